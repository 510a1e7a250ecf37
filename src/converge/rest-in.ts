import type { MembershipState } from '../domain/membership.ts';
import type { Clock } from '../lib/clock.ts';

const hourMs = 3_600_000;

/** A settled state, and when it is worth another look. */
export function restIn(clock: Clock, state: MembershipState) {
  return { state, nextAttemptAt: state === 'invited' ? nextFullHour(clock.now()) : null };
}

/** Nobody tells when an invitation is accepted: all who wait are looked for at once, by one list. */
function nextFullHour(now: Date): string {
  return new Date((Math.floor(now.getTime() / hourMs) + 1) * hourMs).toISOString();
}
