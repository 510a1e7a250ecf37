import type { Config } from '../../config/config-schema.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';

/** A row has 0 or 1 where an answer has false or true. */
export function toMember<Row extends { wanted: number }>({ wanted, ...row }: Row) {
  return { ...row, wanted: wanted === 1 };
}

/** What decides whether a person can be reached by mail now. */
export function toReach({ marketplace: { managedDomains }, mail }: Config, clock: Clock) {
  return { managedDomains, hasMail: mail !== undefined, now: toInstant(clock.now()) };
}
