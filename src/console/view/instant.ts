import { html } from 'hono/html';
import type { Html } from '../page.ts';

/** An instant in UTC, to the second. */
export function instantOf(at: string | null | undefined): Html | string {
  if (!at) return '';
  return html`<time datetime="${at}" title="UTC">${at.slice(0, 10)} ${at.slice(11, 19)}</time>`;
}

export function dayOf(day: string): Html {
  return html`<time datetime="${day}">${day}</time>`;
}
