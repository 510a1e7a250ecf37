import { html } from 'hono/html';
import { sayAge } from '../../lib/units.ts';
import type { Html } from '../page.ts';

const relativeMs = 30 * 86_400_000;

/** How long ago, or in how long; further away, the day. The exact time is in its title. */
export function instantOf(at: string | null | undefined): Html | string {
  if (!at) return '';
  const exact = `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
  return html`<time datetime="${at}" title="${exact}">${sayWhen(Date.now() - Date.parse(at)) ?? at.slice(0, 10)}</time>`;
}

function sayWhen(ms: number): string | undefined {
  if (Math.abs(ms) >= relativeMs) return undefined;
  return ms >= 0 ? `${sayAge(ms)} ago` : `in ${sayAge(-ms)}`;
}

/** Where the order matters more than how long ago it was. */
export function exactOf(at: string): Html {
  return html`<time datetime="${at}" title="${at.slice(0, 19)} UTC">${at.slice(0, 10)} ${at.slice(11, 19)}</time>`;
}
