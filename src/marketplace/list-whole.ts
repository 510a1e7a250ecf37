import { AppError } from '../domain/errors.ts';
import { type ListingPage, readPages } from './read-pages.ts';

interface WholeListing<T> {
  path: string;
  purpose: string;
  /** Reads one page of `path`, which then has its cursor. */
  readPage: (path: string) => Promise<ListingPage<T>>;
  keyOf: (record: T) => string;
}

/**
 * A listing that is documented to have no pages, and may come to have some.
 *
 * @throws AppError `unavailable` where it was not all of it: half a list is none
 */
export async function listWhole<T>(listing: WholeListing<T>): Promise<T[]> {
  const { path, purpose, readPage, keyOf } = listing;
  const { records, isComplete } = await readPages(
    (cursor) => readPage(cursor === undefined ? path : `${path}?${new URLSearchParams({ cursor })}`),
    { keyOf },
  );
  if (isComplete) return records;
  const why = 'the list is not whole, or changed while it was read';
  throw new AppError('unavailable', `Could not ${purpose}: ${why}`);
}
