import { html } from 'hono/html';
import type { Html } from '../page.ts';

/** @param back the page that was asked for */
export function signInPage(back: string, problem?: string): Html {
  return html`<form class="sign-in" method="post" action="/sign-in">
    ${problem && html`<p class="bad" role="alert">${problem}</p>`}
    <input type="hidden" name="back" value="${back}" />
    <label for="token">Your token</label>
    <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
    <button class="main">Sign in</button>
    <p class="quiet">Tokens are configured in <code>console.tokens</code>, one for each person.</p>
  </form>`;
}
