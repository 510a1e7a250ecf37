import { z } from 'zod';
import { toId, toInstantText } from '../domain/marketplace-text.ts';

/**
 * The fields of the marketplace's answers. They are tolerant: unknown words are accepted, and an optional
 * field may be missing or invalid.
 */

export const Id = z.unknown().transform((value, context) => {
  const id = toId(value);
  if (id !== undefined) return id;
  context.addIssue('not an id');
  return z.NEVER;
});

/** Null if it is missing or invalid. */
export function optional<T>(read: (value: unknown) => T | undefined) {
  return z
    .unknown()
    .transform((value) => read(value) ?? null)
    .prefault(null);
}

/** Absent if it is missing or invalid. Null, where it is allowed, means that there is none. */
export function lenient<T extends z.ZodType>(schema: T) {
  return schema.optional().catch(undefined);
}

export const Words = z.array(z.string());
export const Flag = lenient(z.boolean());
export const NullableId = lenient(Id.nullable());
export const Instant = lenient(z.unknown().transform((value) => (value === null ? null : toInstantText(value))));

/** The whole secret is the key, with its `whsec_`. */
export const Secret = z.string().regex(/^[\x21-\x7e]{8,1000}$/);

export const maxUrlChars = 2048;

/** Only http and https, because other links are never shown. */
export const WebUrl = lenient(
  z
    .url({ protocol: /^https?$/i })
    .max(maxUrlChars)
    .nullable(),
);

/** A number, also if it is sent as text, as exact amounts are. */
function toAmount(value: unknown): number | undefined {
  const isText = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value);
  const amount = isText ? Number(value) : value;
  return typeof amount === 'number' && Number.isFinite(amount) ? amount : undefined;
}
export const Amount = optional(toAmount);

/** An answer with its one record in the field `name`. */
export function recordIn<T extends z.ZodType>(name: string, record: T) {
  return z.object({ [name]: record }).transform((answer) => answer[name] as z.output<T>);
}

const paging = { nextCursor: z.string().nullish().catch(null), hasMore: Flag };

/** One page of a listing. Pages are assumed of every listing, although only some are documented with them. */
export function pageOf<T extends z.ZodType>(name: string, record: T) {
  return z.object({ ...paging, [name]: z.array(record) }).transform(({ nextCursor, hasMore, ...rest }) => ({
    records: (rest as Record<string, unknown>)[name] as z.output<T>[],
    nextCursor,
    hasMore,
  }));
}

/** The part that can be compared. The operations are in `paths`, by path and method. */
export const OpenapiDocument = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
});
export type OpenapiDocument = z.infer<typeof OpenapiDocument>;
