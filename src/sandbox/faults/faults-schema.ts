import { z } from 'zod';

/**
 * Which fault happens how often. A number alone is a probability; unknown keys are refused: they
 * are typing errors.
 */

const probability = z.number().min(0).max(1);
/** At most so often, counted for each install since it was set; without end by default. */
const times = z.int().min(1).optional();
/** Only these, as `GET /contracts`; all by default. */
const operations = z.array(z.string()).min(1).optional();
/** A day: nothing waits for longer, and a timer could not hold it. */
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
  /** The event is never emitted. */
  lose: orProbability(DeliveryFault),
  /** Sent once more after it was delivered, as if that had gone unnoticed. */
  repeat: orProbability(DeliveryFault),
  /** Held back until the next one was attempted, or for a few minutes. */
  reorder: orProbability(DeliveryFault),
  /** Sent later, by up to `ms` of the sandbox's time. */
  delay: Delay.optional(),
  /** One byte of the body of an attempt is not the one that was signed. */
  corrupt: orProbability(DeliveryFault),

  /** Answered 429 with Retry-After, and nothing comes of the call. */
  rateLimited: orProbability(RateLimit),
  /** Answered 500 or 503, and nothing comes of the call. */
  serverError: orProbability(ApiFault),
  /** Answered 401, though the token is good, and nothing comes of the call. */
  unauthenticated: orProbability(ApiFault),
  /** Answered 403, though the install is ACTIVE, and nothing comes of the call. */
  forbidden: orProbability(ApiFault),
  /** The call is held up for `ms` of real time. */
  slow: Slowness.optional(),
  /** The call succeeds, and a web page is the answer. */
  notJson: orProbability(ApiFault),
  /** The call succeeds, and the connection ends in the middle of the answer. */
  cutOff: orProbability(ApiFault),
  /** A list has nothing in it, where there is something. */
  empty: orProbability(ApiFault),
  /** A list ends after its first half. */
  truncated: orProbability(ApiFault),
});
/** What every one of them may have. */
export interface Fault {
  probability: number;
  times?: number | undefined;
  operations?: string[] | undefined;
}
export type Faults = z.output<typeof Faults>;
/** As it is asked for: with bare numbers, too. */
export type WantedFaults = z.input<typeof Faults>;

export const SetFaults = z.strictObject({
  /** All of them by default, those that come later included. */
  installId: z.string().optional(),
  /** None by default: what was set is over. */
  faults: Faults.optional(),
});

function orProbability<T extends z.ZodType<Fault, Fault>>(fault: T) {
  const alone = probability.transform((value) => ({ probability: value })).pipe(fault);
  return z.union([alone, fault], { error: explain }).optional();
}

/** Of the two things that it could have been, what it looks like says which was meant. */
function explain({ input, errors }: { input?: unknown; errors?: unknown }): string {
  const isObject = typeof input === 'object' && input !== null;
  const branch = Array.isArray(errors) ? errors[isObject ? 1 : 0] : [];
  return (branch as z.core.$ZodIssue[]).map(({ path, message }) => [...path, message].join(': ')).join(', ');
}
