import { AppError } from '../../domain/errors.ts';
import { type ListingPage, readPages } from './read-pages.ts';

interface WholeListing<T> {
  path: string;
  purpose: string;
  /** Reads one page. `path` contains the cursor. */
  readPage: (path: string) => Promise<ListingPage<T>>;
  keyOf: (record: T) => string;
}

/**
 * A listing that is documented without pages, but may get pages later.
 *
 * @throws AppError `unavailable` if the list is not complete; there is no half list
 */
export async function listWhole<T>(listing: WholeListing<T>): Promise<T[]> {
  const { path, purpose, readPage, keyOf } = listing;
  const { records, isComplete } = await readPages(
    (cursor) => readPage(cursor === undefined ? path : `${path}?${new URLSearchParams({ cursor })}`),
    { keyOf },
  );
  if (isComplete) return records;
  const why = 'the list is not complete, or it changed while it was read';
  throw new AppError('unavailable', `Could not ${purpose}: ${why}`);
}
