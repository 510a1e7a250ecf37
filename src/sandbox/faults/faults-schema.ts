import { z } from 'zod';

/**
 * Which faults happen, and how often. A bare number is a probability. Unknown keys are refused, because they are typos.
 */

const probability = z.number().min(0).max(1);
/** The most times per install since the fault was set; unlimited by default. */
const times = z.int().min(1).optional();
/** Only these, such as `GET /contracts`; all by default. */
const operations = z.array(z.string()).min(1).optional();
/** At most a day, because timers cannot wait much longer. */
const ms = z.number().min(0).max(86_400_000);

const DeliveryFault = z.strictObject({ probability, times });
const Delay = z.strictObject({ probability, times, ms });
const ApiFault = z.strictObject({ probability, times, operations });
const RateLimit = z.strictObject({
  probability,
  times,
  operations,
  /** 1 by default. */
  retryAfterSeconds: z.int().min(0).optional(),
});
const Slowness = z.strictObject({ probability, times, operations, ms });

export const Faults = z.strictObject({
  /** The event is never sent. */
  lose: orProbability(DeliveryFault),
  /** It is sent again after it was delivered. */
  repeat: orProbability(DeliveryFault),
  /** It waits until the next event was attempted, but only for a few minutes. */
  reorder: orProbability(DeliveryFault),
  /** It is sent later, by up to `ms` of the timeline. */
  delay: Delay.optional(),
  /** One byte of the sent body differs from the signed body. */
  corrupt: orProbability(DeliveryFault),

  /** The call has no effect and is answered 429 with Retry-After. */
  rateLimited: orProbability(RateLimit),
  /** The call has no effect and is answered 500 or 503. */
  serverError: orProbability(ApiFault),
  /** The call has no effect and is answered 401, although the token is valid. */
  unauthenticated: orProbability(ApiFault),
  /** The call has no effect and is answered 403, although the install is ACTIVE. */
  forbidden: orProbability(ApiFault),
  /** The call takes `ms` of real time longer. */
  slow: Slowness.optional(),
  /** The call takes effect, but the answer is a web page. */
  notJson: orProbability(ApiFault),
  /** The call takes effect, but the connection ends in the middle of the answer. */
  cutOff: orProbability(ApiFault),
  /** A list is empty although there are entries. */
  empty: orProbability(ApiFault),
  /** Only the first half of a list is answered. */
  truncated: orProbability(ApiFault),
});
/** What all faults have in common. */
export interface Fault {
  probability: number;
  times?: number | undefined;
  operations?: string[] | undefined;
}
export type Faults = z.output<typeof Faults>;
/** As a request has them: with bare numbers too. */
export type WantedFaults = { [Kind in keyof Faults]: Faults[Kind] | number };

export const SetFaults = z.strictObject({
  /** All installs by default, including those that are created later. */
  installId: z.string().optional(),
  /** None by default, which ends all faults. */
  faults: Faults.optional(),
});

function orProbability<T extends z.ZodType<Fault>>(fault: T) {
  return z.preprocess((given) => (typeof given === 'object' ? given : { probability: given }), fault).optional();
}
