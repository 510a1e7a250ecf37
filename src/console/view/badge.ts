import { html } from 'hono/html';
import type { MembershipState } from '../../domain/membership.ts';
import type { Html } from '../page.ts';

export type Tone = 'good' | 'warn' | 'bad' | 'held' | 'gone';

/** A state looks alike everywhere: a dot, a colour and a word. */
export function badgeOf(word: string, tone: Tone): Html {
  return html`<span class="badge ${tone}">${word}</span>`;
}

const memberships: Record<MembershipState, readonly [word: string, tone: Tone]> = {
  waiting_email: ['No work email', 'warn'],
  pending: ['Pending', 'warn'],
  invited: ['Invited', 'warn'],
  active: ['Active', 'good'],
  removing: ['Being removed', 'warn'],
  removed: ['Removed', 'gone'],
  released: ['Left in', 'gone'],
  failed: ['Failed', 'bad'],
  held: ['Removal on hold', 'held'],
  orphaned: ['Orphaned', 'bad'],
};

export function membershipBadge(state: MembershipState): Html {
  return badgeOf(...memberships[state]);
}

/** Words of states that are the same for several things: plans, deliveries, contracts, notices. */
const tones: Readonly<Record<string, Tone>> = {
  open: 'held',
  approved: 'good',
  handled: 'good',
  active: 'good',
  sent: 'good',
  ok: 'good',
  pending: 'warn',
  waiting: 'warn',
  low: 'warn',
  disputed: 'warn',
  warning: 'warn',
  failed: 'bad',
  failure: 'bad',
  unprocessable: 'bad',
  depleted: 'bad',
  refused: 'bad',
};

export function stateBadge(state: string): Html {
  const word = state.replaceAll('_', ' ');
  return badgeOf(`${word.charAt(0).toUpperCase()}${word.slice(1)}`, tones[state] ?? 'gone');
}
