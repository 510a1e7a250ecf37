import { z } from 'zod';
import { planStates } from '../domain/brake.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import type { OperationContext } from './operation.ts';

/** What several operations share: parts of inputs and answers, and pages of lists. */

/** A name, an id or a part of one. No id has control characters, and a database may refuse them. */
export const text = z
  .string()
  .min(1)
  .max(500)
  .refine((value) => !/\p{Cc}/u.test(value) && value.isWellFormed(), 'must not contain control characters')
  // The same for programs, some of which know no classes of characters.
  .meta({ pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' });

export const rowNumber = z.int().min(1).max(999_999_999_999_999);

export const day = z.iso.date().describe('Such as 2026-03-15.');

export const instant = z.iso.datetime().describe('In UTC, such as 2026-03-15T10:00:00.000Z.');
export const maybeInstant = instant.nullable();
export const maybeText = z.string().nullable();
export const count = z.int().min(0);

/** Of a run. */
export const outcome = z.enum(['clean', 'applied', 'pending', 'held', 'failed']);
export const runCounts = { added: count, removed: count, held: count, failed: count };

/** An object that has a name of its own in the API's document. */
export function named<Shape extends z.ZodRawShape>(id: string | { id: string; description: string }, shape: Shape) {
  return z.object(shape).meta(typeof id === 'string' ? { id } : id);
}

export function flag(description: string) {
  return z.boolean().default(false).describe(description);
}

export const longestPage = 500;

/** The fields that every list with pages takes. */
export const paging = {
  limit: z.int().min(1).max(longestPage).optional().describe('How many at most; 100 by default.'),
  cursor: z
    .string()
    .min(1)
    .max(2000)
    .optional()
    .describe('The `next` of the page before. It is opaque, and belongs to this list.'),
};

export function page<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    next: z.string().nullable().describe('The cursor of the next page; null on the last.'),
  });
}

export const ofInstall = text.optional().describe('Only those of one install.');
export const ofTool = text.optional().describe('Only those of one tool.');

export const contractKey = { install: z.string(), contractId: z.string() };

export const oneContract = {
  contract: text.describe('Its id.'),
  install: text.optional().describe('Its install, if several have a contract with this id.'),
};

/** @throws AppError `not_found` for an install or a tool that does not exist */
export function refuseUnknown(
  ctx: OperationContext,
  { install, tool }: { install?: string | undefined; tool?: string | undefined },
): void {
  if (install !== undefined) oneInstall(ctx, install);
  const { tools } = ctx.config;
  if (tool === undefined || tools.has(tool)) return;
  throw new AppError('not_found', `There is no tool "${tool}"; there are: ${[...tools.keys()].sort().join(', ')}`);
}

/** @throws AppError `not_found` for an install that does not exist */
export function pickInstalls({ installs }: OperationContext, named: string | undefined): string[] {
  return named === undefined ? [...installs.keys()] : [oneInstall({ installs }, named)];
}

/** @throws AppError `not_found` for an install that does not exist */
export function oneInstall({ installs }: Pick<OperationContext, 'installs'>, named: string): string {
  if (installs.has(named)) return named;
  const known = [...installs.keys()].sort();
  const list = known.length === 0 ? 'there are none' : `there are: ${known.join(', ')}`;
  throw new AppError('not_found', `There is no install "${named}"; ${list}`);
}

/** @throws AppError `not_found` */
export function found<T>(what: string, id: number, value: T | undefined): T {
  if (value === undefined) throw new AppError('not_found', `There is no ${what} ${id}`);
  return value;
}

/** The install in an address. On a command line it may be left out if there is only one. */
export const theInstall = text.describe('Which install; may be left out where there is only one.');

const seconds = /^([0-9]{1,2}|100)s$/;

export const waiting = z
  .string()
  .refine((text) => seconds.test(text), 'must be a duration such as 30s, at most 100s')
  .meta({ pattern: seconds.source })
  .default('30s')
  .describe('How long to wait at most until it is done, up to 100s.');

export const unread = z
  .array(z.object({ install: z.string(), failure: z.string() }))
  .describe('Installs that could not be read, and why.');

/** Asks one install after the other. A failure does not hide the answers of the others. */
export async function askEach<Answer>(
  installs: readonly string[],
  signal: AbortSignal,
  ask: (install: string) => Promise<readonly Answer[]>,
) {
  const answer: { found: Answer[]; unread: z.output<typeof unread> } = { found: [], unread: [] };
  for (const install of installs) {
    try {
      answer.found.push(...(await ask(install)));
    } catch (error) {
      signal.throwIfAborted();
      answer.unread.push({ install, failure: maskText(toAppError(error).message) });
    }
  }
  return answer;
}

export function sayUnread(answer: { unread: z.output<typeof unread> }): string[] {
  return sayFailures(answer.unread);
}

export function sayFailures(installs: readonly { install: string; failure: string | null }[]): string[] {
  return installs.flatMap(({ install, failure }) => (failure === null ? [] : [`${install}: ${failure}`]));
}

/** A cursor has the name of its list and the key of the last row of a page. Callers do not look into it. */

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
  wish: PageRequest,
  find: (before: number | undefined, limit: number) => Promise<Row[]>,
): Promise<PageOf<Row>> {
  return pageBy(list, { id: rowNumber }, wish, (after: { id: number } | undefined, limit) => find(after?.id, limit));
}

export const Plan = named('Plan', {
  id: z.int(),
  install: z.string(),
  state: z.enum(planStates),
  createdAt: instant,
  decidedAt: maybeInstant,
  size: count.describe('How many people it has.'),
});
