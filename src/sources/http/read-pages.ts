import { AppError } from '../../domain/errors.ts';
import type { Call, Operation } from './caller.ts';

/** One answer of a listing, with or without pages. */
export interface ListingPage<T> {
  records: T[];
  nextCursor?: string | null | undefined;
  hasMore?: boolean | undefined;
}

export interface Listing<T> {
  /** Each record once, as it was first read. */
  records: T[];
  /** False if there may be more than was read. What is missing is then unseen, not absent. */
  isComplete: boolean;
}

interface PageOptions<T> {
  keyOf: (record: T) => string;
  /** How many were requested. If the only page has as many, there may be more. */
  limit?: number;
  /** Called if another page follows; false leaves the listing incomplete. */
  wantsMore?: ((page: T[]) => Promise<boolean> | boolean) | undefined;
}

const maxPages = 1000;

/**
 * Follows `nextCursor` if an answer has one. A listing that changed while it was read is not complete:
 * it repeats a record or a cursor, or a page that is followed by others is smaller than the one
 * before, or an announced page is empty.
 */
export async function readPages<T>(
  readPage: (cursor: string | undefined) => Promise<ListingPage<T>>,
  { keyOf, limit = Number.POSITIVE_INFINITY, wantsMore = () => true }: PageOptions<T>,
): Promise<Listing<T>> {
  const records = new Map<string, T>();
  const cursors = new Set<string>();
  let isSteady = true;
  let cursor: string | undefined;
  let lastSize = 0;
  for (let count = 0; count < maxPages; count += 1) {
    const page = await readPage(cursor);
    const size = page.records.length;
    const hasRepeated = addRecords(records, page.records, keyOf);
    isSteady &&= !hasRepeated && (count === 0 || size > 0);
    if (!page.nextCursor) {
      const isCutOff = page.hasMore === true || (count === 0 && size >= limit);
      return { records: [...records.values()], isComplete: isSteady && !isCutOff };
    }
    isSteady &&= size >= Math.max(lastSize, 1);
    lastSize = size;
    cursor = page.nextCursor;
    if (cursors.has(cursor) || !(await wantsMore(page.records))) break;
    cursors.add(cursor);
  }
  return { records: [...records.values()], isComplete: false };
}

/** Keeps the record that was read first. @returns whether a record was in an earlier page */
function addRecords<T>(records: Map<string, T>, page: T[], keyOf: (record: T) => string): boolean {
  const news = page.filter((record) => !records.has(keyOf(record)));
  for (const record of news) if (!records.has(keyOf(record))) records.set(keyOf(record), record);
  return news.length < page.length;
}

/**
 * A listing that is documented without pages, but may get pages later.
 *
 * @throws AppError `unavailable` if the list is incomplete
 */
export async function listWhole<Page extends ListingPage<unknown>>(
  call: Call,
  operation: Operation<Page>,
  keyOf: (record: Page['records'][number]) => string,
): Promise<Page['records']> {
  const readPage = (cursor: string | undefined) => call({ ...operation, query: { cursor } });
  const { records, isComplete } = await readPages(readPage, { keyOf });
  if (isComplete) return records;
  const why = 'the list is not complete, or it changed while it was read';
  throw new AppError('unavailable', `Could not ${operation.purpose}: ${why}`);
}
