import { html } from 'hono/html';
import type { Html } from '../page.ts';

/** A part of a page with a heading. @param beside a count, a link or a button */
export function panelOf(heading: string, body: Html, beside: Html | string = ''): Html {
  return html`<section class="panel">
    <header><h2>${heading}</h2>${beside}</header>
    ${body}
  </section>`;
}
