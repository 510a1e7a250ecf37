import type { MembershipState } from '../domain/membership.ts';
import { type Clock, instantIn } from '../lib/clock.ts';

/** Nobody tells when an invitation is accepted. */
const invitedRetryMs = 3_600_000;

/** A settled state, and when it is worth another look. */
export function restIn(clock: Clock, state: MembershipState) {
  return { state, nextAttemptAt: state === 'invited' ? instantIn(clock, invitedRetryMs) : null };
}
