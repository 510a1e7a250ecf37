import { z } from 'zod';
import { toId } from '../../domain/marketplace-text.ts';
import { paging } from './requests.ts';

/**
 * What shapes have in common. Answers are tolerant: a record needs only its essential fields. Any other field is absent or
 * null if it was missing or invalid. The metadata is what JSON Schema says of them.
 */

/** Absent if the field is missing or invalid. Null, where it is allowed, means that there is none. */
export function lenient<T extends z.ZodType>(schema: T) {
  return schema.optional().catch(undefined);
}

/** Null if the field is missing or invalid. */
export function optional<T>(read: (value: unknown) => T | undefined, type: string, format?: string) {
  return z
    .unknown()
    .transform((value) => read(value) ?? null)
    .prefault(null)
    .meta({ type: [type, 'null'], ...(format && { format }) });
}

/** The same for a record. */
export function optionalRecord<T extends z.ZodType>(schema: T) {
  return schema
    .nullish()
    .catch(null)
    .transform((record) => record ?? null);
}

/** Several fields of one type. */
export function fields<T extends z.ZodType, Name extends string>(type: T, ...names: Name[]) {
  return Object.fromEntries(names.map((name) => [name, type])) as Record<Name, T>;
}

/** A text, of which these words are known. New ones may come (spec: part A section 9). */
export function words(...known: string[]) {
  return z.string().meta({ enum: known });
}

/** The same as `words`, where the field may be missing. */
export function maybeWord(...known: readonly string[]) {
  return optional(toId, 'string').meta({ enum: [...known, null] });
}

/** A page of a listing. Every listing may have pages, although only some are documented with them. */
export function pageOf<Name extends string, T extends z.ZodType>(name: Name, record: T) {
  const list = { [name]: z.array(record) } as Record<Name, z.ZodArray<T>>;
  return z.object({ ...list, nextCursor: z.string().nullish().catch(null), hasMore: lenient(z.boolean()) });
}

/** What is sent for a list and what comes back, with the sizes of its pages that the specification names. */
export function listing<Name extends string, T extends z.ZodType>(
  name: Name,
  record: T,
  usual?: number,
  most?: number,
) {
  const limits = usual === undefined ? [] : [`${usual} a page, ${most} at most`];
  return { in: z.object(paging(most)), out: pageOf(name, record), limits };
}
