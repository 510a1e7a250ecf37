export interface ListingPage<T> {
  records: T[];
  nextCursor?: string | null | undefined;
  hasMore?: boolean | undefined;
}

export interface Listing<T> {
  /** Each record once, as it was first read. */
  records: T[];
  /** False if there may be more. What is missing is then unseen, not absent. */
  isComplete: boolean;
}

export interface PageOptions<T> {
  /** Its id by default, or the whole record. */
  keyOf?: (record: T) => string;
  /** The requested number of records. If the only page has as many, there may be more. */
  limit?: number;
  /** Called if another page follows; false leaves the listing incomplete. */
  wantsMore?: ((page: T[]) => Promise<boolean> | boolean) | undefined;
  /** What to keep of each record; everything by default. */
  keep?: ((record: T) => T) | undefined;
}

const maxPages = 1000;

/**
 * Follows `nextCursor`. A listing that changed while it was read is incomplete: it repeats a record or a cursor, an
 * announced page is empty, or a page before the last is smaller than the one before it.
 */
export async function readPages<T>(
  readPage: (cursor: string | undefined) => Promise<ListingPage<T>>,
  options: PageOptions<T>,
): Promise<Listing<T>> {
  const { keyOf = idOf, limit = Number.POSITIVE_INFINITY, wantsMore = () => true, keep = (all) => all } = options;
  const records = new Map<string, T>();
  const cursors = new Set<string>();
  let isSteady = true;
  let cursor: string | undefined;
  let lastSize = 0;
  for (let count = 0; count < maxPages; count += 1) {
    const page = await readPage(cursor);
    const kept = page.records.map(keep);
    const size = kept.length;
    const hasRepeated = addRecords(records, kept, keyOf);
    isSteady &&= !hasRepeated && (count === 0 || size > 0);
    if (!page.nextCursor) {
      const isCutOff = page.hasMore === true || (count === 0 && size >= limit);
      return { records: [...records.values()], isComplete: isSteady && !isCutOff };
    }
    isSteady &&= size >= Math.max(lastSize, 1);
    lastSize = size;
    cursor = page.nextCursor;
    if (cursors.has(cursor) || !(await wantsMore(kept))) break;
    cursors.add(cursor);
  }
  return { records: [...records.values()], isComplete: false };
}

function idOf(record: unknown): string {
  const { id = JSON.stringify(record) } = Object(record);
  return String(id);
}

/** @returns whether a record was on an earlier page */
function addRecords<T>(records: Map<string, T>, page: T[], keyOf: (record: T) => string): boolean {
  const added = page.filter((record) => !records.has(keyOf(record)));
  for (const record of added) if (!records.has(keyOf(record))) records.set(keyOf(record), record);
  return added.length < page.length;
}
