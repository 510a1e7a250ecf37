import { html } from 'hono/html';
import { type Tone, toneOf } from '../../lib/tone.ts';
import { sayAge } from '../../lib/units.ts';
import type { Html } from '../page.ts';

/** A state looks alike everywhere: a dot, a colour and a word. */
export function badgeOf(word: string, tone: Tone): Html {
  return html`<span class="badge ${tone}">${word}</span>`;
}

/** What people read instead of the state's own word. */
const stateWords: Readonly<Record<string, string>> = {
  waiting_email: 'No work email',
  removing: 'Being removed',
  released: 'Left in',
  held: 'Removal on hold',
  not_read: 'Not read yet',
};

export function stateBadge(state: string): Html {
  const word = stateWords[state] ?? state.replaceAll('_', ' ');
  return badgeOf(`${word.charAt(0).toUpperCase()}${word.slice(1)}`, toneOf(state));
}

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

/** The console's words for what code and commands call otherwise. */
const titles: Readonly<Record<string, string>> = {
  install: 'Customer',
  group: 'Project',
  name: 'Trainer',
  title: 'Contract',
  displayName: 'Name',
  q: 'Trainer, project or work email',
  suspects: 'Only unlisted ones',
  leaving: 'Only those about to leave',
};

/** The title of a column or a field, as people read it. */
export function labelOf(title: string): string {
  const text = title.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return titles[title] ?? `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** A part of a page with a heading. @param beside a count, a link or a button */
export function panelOf(heading: string, body: Html, beside: Html | string = ''): Html {
  return html`<section class="panel">
    <header><h2>${heading}</h2>${beside}</header>
    ${body}
  </section>`;
}
