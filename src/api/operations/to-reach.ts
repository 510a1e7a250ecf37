import type { Config } from '../../config/config-schema.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';

/** What decides whether a person can be reached by mail now. */
export function toReach({ marketplace: { managedDomains }, mail }: Config, clock: Clock) {
  return { managedDomains, hasMail: mail !== undefined, now: toInstant(clock.now()) };
}
