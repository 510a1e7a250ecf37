import { z } from 'zod';
import { toEmail, toId, toInstantText, toText } from '../../domain/marketplace-text.ts';
import { maxUrlChars } from './requests.ts';
import { lenient, optional } from './shapes.ts';

/** The values in the marketplace's answers. */

export const Id = z
  .unknown()
  .transform((value, context) => {
    const id = toId(value);
    if (id !== undefined) return id;
    context.addIssue('not an id');
    return z.NEVER;
  })
  .meta({ type: 'string', format: 'id' });

export const Words = z.array(z.string());
export const Flag = lenient(z.boolean());
export const Count = z.int().min(0);
export const MaybeId = optional(toId, 'string', 'id');
export const NullableId = lenient(Id.nullable());
export const Text = optional(toText, 'string');
export const Email = optional(toEmail, 'string', 'email');
export const Instant = optional(toInstantText, 'string', 'date-time');
/** Absent if it is missing or invalid. */
export const NullableInstant = lenient(
  z
    .unknown()
    .transform((value) => (value === null ? null : toInstantText(value)))
    .meta({ type: ['string', 'null'], format: 'date-time' }),
);

/** A number, or a number as text, which is how exact amounts are sent. Null if it is missing or invalid. */
export const Amount = optional(toAmount, 'number');
function toAmount(value: unknown): number | undefined {
  const isText = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value);
  const amount = isText ? Number(value) : value;
  return typeof amount === 'number' && Number.isFinite(amount) ? amount : undefined;
}

/** Shown once, and only on request. The whole text is the key, including `whsec_`. */
export const Secret = z
  .string()
  .regex(/^[\x21-\x7e]{8,1000}$/)
  .meta({ format: 'secret' });

/** Only http and https, because other links must not be shown. */
export const WebUrl = lenient(
  z
    .url({ protocol: /^https?$/i })
    .max(maxUrlChars)
    .nullable(),
);

/** Anything, such as the content of a page, which is validated where it is used. */
export const Anything = z.unknown();
export const AnyRecord = z.record(z.string(), z.unknown());
