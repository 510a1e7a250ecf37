import { AppError } from '../domain/errors.ts';

/**
 * A cursor says where a page of a list ended: the list, and the key of the last row. It is opaque to callers, and a
 * cursor of another list is refused.
 */

export type CursorKey = readonly (string | number)[];

export function writeCursor(list: string, key: CursorKey): string {
  return Buffer.from(JSON.stringify([list, ...key])).toString('base64url');
}

/** @throws AppError `invalid` for anything that `writeCursor` does not write for this list and this kind of key */
export function readCursor<Key extends CursorKey>(
  list: string,
  cursor: string,
  isKey: (key: readonly unknown[]) => key is Key,
): Key {
  const [of, ...key] = toList(Buffer.from(cursor, 'base64url').toString());
  if (of !== list || !isKey(key) || !key.every(canBeStored) || writeCursor(list, key) !== cursor) throw foreignCursor();
  return key;
}

/** @throws AppError `invalid` for a part of a cursor that is no number of a row */
export function rowNumberIn(part: string | undefined): number {
  const id = Number(part);
  if (!Number.isSafeInteger(id) || id <= 0) throw foreignCursor();
  return id;
}

function foreignCursor(): AppError {
  return new AppError('invalid', 'This cursor is not one that this list has given: begin without one');
}

/** PostgreSQL takes no other text, not even to look for it. */
function canBeStored(part: string | number): boolean {
  return typeof part === 'number' || (!part.includes('\0') && part.isWellFormed());
}

function toList(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

export interface PageWish {
  /** 100 by default. */
  limit?: number | undefined;
  cursor?: string | undefined;
}

export interface PageOf<Row> {
  items: Row[];
  /** The cursor of the next page; null on the last. */
  next: string | null;
}

const usualLimit = 100;

/** One page of a list of rows with numbers, the newest first. @param find the newest rows before a number */
export async function pageById<Row extends { id: number }>(
  list: string,
  { limit = usualLimit, cursor }: PageWish,
  find: (before: number | undefined, limit: number) => Promise<Row[]>,
): Promise<PageOf<Row>> {
  const [before] = cursor === undefined ? [] : readCursor(list, cursor, isId);
  const found = await find(before, limit + 1);
  return toPage(list, found, limit, ({ id }) => [id]);
}

/** The same of a list that is ordered by texts. @param parts how many texts a key has */
export async function pageByKey<Row>(
  list: string,
  { limit = usualLimit, cursor, parts }: PageWish & { parts: number },
  find: (after: readonly string[] | undefined, limit: number) => Promise<Row[]>,
  keyOf: (row: Row) => readonly string[],
): Promise<PageOf<Row>> {
  const isTexts = (key: readonly unknown[]): key is readonly string[] =>
    key.length === parts && key.every((part) => typeof part === 'string');
  const after = cursor === undefined ? undefined : readCursor(list, cursor, isTexts);
  return toPage(list, await find(after, limit + 1), limit, keyOf);
}

function isId(key: readonly unknown[]): key is readonly [number] {
  const [id] = key;
  return key.length === 1 && Number.isSafeInteger(id) && Number(id) > 0;
}

/** @param found one row more than the page has, if there is a next page */
function toPage<Row>(list: string, found: readonly Row[], limit: number, keyOf: (row: Row) => CursorKey): PageOf<Row> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const next = found.length > limit && last !== undefined ? writeCursor(list, keyOf(last)) : null;
  return { items, next };
}
