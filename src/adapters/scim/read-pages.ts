import { AppError } from '../../domain/errors.ts';
import { isObject, type Resource, toResource } from './resource.ts';

const maxPages = 10_000;

/**
 * Every page of a list, from `startIndex` 1. A server may return fewer than requested, and may return
 * the first page again after the end.
 *
 * @throws AppError `invalid` for an answer that is no list, for repeated pages, and for a list without an
 * end; `unavailable` for a list that ends before its total
 */
export async function* readScimPages(
  purpose: string,
  readPage: (startIndex: number) => Promise<unknown>,
): AsyncGenerator<Resource> {
  const beginnings = new Set<string>();
  let gathered = 0;
  for (let page = 0; page < maxPages; page += 1) {
    const { total, items } = toPage(await readPage(gathered + 1), purpose);
    const [first] = items;
    if (first === undefined) {
      if (gathered >= total) return;
      const where = `it ended at ${gathered} of ${total}`;
      throw new AppError('unavailable', `Could not ${purpose}: ${where}`);
    }
    if (beginnings.has(first.id)) {
      const why = 'a page begins like one before it, so the server may not know "startIndex"';
      throw new AppError('invalid', `Could not ${purpose}: ${why}`);
    }
    beginnings.add(first.id);
    yield* items;
    gathered += items.length;
    // After the last page, some servers begin again.
    if (gathered >= total) return;
  }
  throw new AppError('invalid', `Could not ${purpose}: over ${maxPages} pages`);
}

/** `Resources` may be missing if there are none. */
function toPage(answer: unknown, purpose: string): { total: number; items: Resource[] } {
  const { totalResults, Resources = [] } = isObject(answer) ? answer : {};
  const total = typeof totalResults === 'string' ? Number(totalResults) : totalResults;
  if (!Number.isSafeInteger(total) || !Array.isArray(Resources)) {
    throw new AppError('invalid', `Could not ${purpose}: the answer is no list of SCIM`);
  }
  const items = Resources.map((item) => {
    const resource = toResource(item);
    if (resource !== undefined) return resource;
    throw new AppError('invalid', `Could not ${purpose}: one in the list has no id`);
  });
  return { total: Number(total), items };
}
