import { html } from 'hono/html';
import type { Html } from '../page.ts';

export type Tone = 'good' | 'warn' | 'bad' | 'held' | 'gone';

/** A state looks alike everywhere: a dot, a colour and a word. */
export function badgeOf(word: string, tone: Tone): Html {
  return html`<span class="badge ${tone}">${word}</span>`;
}

/** States of memberships, plans, deliveries, contracts, notices and checks. What is not here is over, and needs nobody. */
const tones: Readonly<Record<string, Tone>> = {
  ...{ active: 'good', approved: 'good', handled: 'good', sent: 'good', ok: 'good', healthy: 'good' },
  ...{ waiting_email: 'warn', pending: 'warn', invited: 'warn', removing: 'warn', waiting: 'warn', low: 'warn' },
  ...{ disputed: 'warn', warning: 'warn', not_read: 'warn' },
  ...{ failed: 'bad', orphaned: 'bad', failure: 'bad', unprocessable: 'bad', depleted: 'bad', refused: 'bad' },
  ...{ not_funded: 'bad', trouble: 'bad' },
  ...{ held: 'held', open: 'held' },
};

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
  return badgeOf(`${word.charAt(0).toUpperCase()}${word.slice(1)}`, tones[state] ?? 'gone');
}
