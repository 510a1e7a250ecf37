import { z } from 'zod';
import { AppError } from '../domain/errors.ts';
import { rowNumber } from './values.ts';

/**
 * Pages of lists. A cursor has the name of its list and the key of the last row of a page, and callers do not look into
 * it.
 */

export const longestPage = 500;

/** The fields that every list with pages takes. */
export const paging = {
  limit: z.int().min(1).max(longestPage).optional().describe('How many at most; 100 by default.'),
  cursor: z.string().min(1).max(2000).optional().describe('The `next` of the previous page of this list.'),
};

export function page<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    next: z.string().nullable().describe('The cursor of the next page; null on the last.'),
  });
}

type CursorKey = readonly (string | number | null)[];

export function writeCursor(list: string, key: CursorKey): string {
  return Buffer.from(JSON.stringify([list, ...key])).toString('base64url');
}

/** @throws AppError `invalid` for anything that `writeCursor` does not write for this list and this kind of key */
export function readCursor<Key extends CursorKey>(list: string, cursor: string, schema: z.ZodType<Key>): Key {
  const [of, ...parts] = toList(Buffer.from(cursor, 'base64url').toString());
  const { data: key } = schema.safeParse(parts);
  if (of !== list || key === undefined || !key.every(canBeStored) || writeCursor(list, key) !== cursor) {
    throw new AppError('invalid', 'This cursor does not belong to this list. Start without one');
  }
  return key;
}

/** PostgreSQL refuses other texts, even in a condition. */
function canBeStored(part: CursorKey[number]): boolean {
  return typeof part !== 'string' || (!part.includes('\0') && part.isWellFormed());
}

function toList(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

export interface PageRequest {
  limit?: number | undefined;
  cursor?: string | undefined;
}

interface PageOf<Row> {
  items: Row[];
  /** The cursor of the next page; null on the last. */
  next: string | null;
}

/**
 * One page of a list that is ordered by some fields of its rows.
 *
 * @param key these fields, in their order
 * @param find the first rows after the row with that key
 */
export async function pageBy<Key extends Readonly<Record<string, CursorKey[number]>>, Row extends Key>(
  list: string,
  key: { [Field in keyof Key & string]: z.ZodType<Key[Field]> },
  { limit = 100, cursor }: PageRequest,
  find: (after: Key | undefined, limit: number) => Promise<Row[]>,
): Promise<PageOf<Row>> {
  const fields = Object.keys(key);
  const schema = z.tuple(Object.values<z.ZodType>(key) as []) as z.ZodType<CursorKey>;
  const parts = cursor === undefined ? undefined : readCursor(list, cursor, schema);
  const after = parts && (Object.fromEntries(fields.map((field, at) => [field, parts[at]])) as Key);
  // One row more tells whether there is a next page.
  const found = await find(after, limit + 1);
  const items = found.slice(0, limit);
  const last = found.length > limit ? items.at(-1) : undefined;
  const keyOf = (row: Row) => fields.map((field) => row[field] ?? null);
  return { items, next: last === undefined ? null : writeCursor(list, keyOf(last)) };
}

/** The same for numbered rows, the newest first. @param find the newest rows before a number */
export function pageById<Row extends { id: number }>(
  list: string,
  request: PageRequest,
  find: (before: number | undefined, limit: number) => Promise<Row[]>,
): Promise<PageOf<Row>> {
  return pageBy(list, { id: rowNumber }, request, (after: { id: number } | undefined, limit) => find(after?.id, limit));
}
