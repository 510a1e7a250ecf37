import { html } from 'hono/html';
import type { Html } from '../page.ts';

/** A button to press: a program that looks where a link leads does not use it up. */
export function signInLinkPage(code: string): Html {
  return html`<form class="sign-in" method="post" action="/sign-in">
    <input type="hidden" name="code" value="${code}" />
    <button class="main" autofocus>Sign in</button>
    <p class="quiet">This link works once, for 10 minutes after Gangway started.</p>
  </form>`;
}
