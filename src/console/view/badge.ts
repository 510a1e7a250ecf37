import { html } from 'hono/html';
import { type Tone, toneOf } from '../../lib/tone.ts';
import type { Html } from '../page.ts';

/** A state looks alike everywhere: a dot, a colour and a word. */
export function badgeOf(word: string, tone: Tone): Html {
  return html`<span class="badge ${tone}">${word}</span>`;
}

/** What people read where it is not the state's own word. */
const words: Readonly<Record<string, string>> = {
  waiting_email: 'No work email',
  removing: 'Being removed',
  released: 'Left in',
  held: 'Removal on hold',
  not_read: 'Not read yet',
};

export function stateBadge(state: string): Html {
  const word = words[state] ?? state.replaceAll('_', ' ');
  return badgeOf(`${word.charAt(0).toUpperCase()}${word.slice(1)}`, toneOf(state));
}
