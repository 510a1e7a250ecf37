import { AppError } from '../../domain/errors.ts';
import { statusOf } from '../../lib/rest-client.ts';
import { isObject } from '../values.ts';
import { type Resource, toResource } from './resource.ts';
import { type Query, type ResourceType, readDialect, type Scim, type ScimCall, scimGet } from './scim-api.ts';

/** Searches users and groups on servers that filter, that refuse filters, or that ignore them. */

export interface Filter {
  attribute: string;
  value: string;
  /** Whether to read everything if the server does not know this filter. */
  isNeeded: boolean;
  /** Further parameters of the query. */
  also?: Query;
}

/** All resources, page by page. */
export async function* listAll(scim: Scim, type: ResourceType, call: ScimCall): AsyncGenerator<Resource> {
  const { pageSize: count } = await readDialect(scim, call.signal);
  yield* readScimPages(call.purpose, (startIndex) => scimGet(scim, `/${type}`, { startIndex, count }, call));
}

/** Proves that the list can be read. */
export async function probe(scim: Scim, type: ResourceType, call: ScimCall): Promise<void> {
  const first = scimGet(scim, `/${type}`, { startIndex: 1, count: 1 }, call);
  await readScimPages(call.purpose, () => first).next();
}

/**
 * The resources with a value, and maybe others: a server that ignores filters returns everything. The
 * caller must check each.
 */
export async function* search(
  scim: Scim,
  type: ResourceType,
  { attribute, value, isNeeded, also }: Filter,
  call: ScimCall,
): AsyncGenerator<Resource> {
  const { hasFilter, pageSize: count } = await readDialect(scim, call.signal);
  const filter = `${attribute} eq ${JSON.stringify(value)}`;
  const hiding = { ...call, hidden: [...(call.hidden ?? []), value] };
  const read = (startIndex: number) => scimGet(scim, `/${type}`, { filter, startIndex, count, ...also }, hiding);
  const first = hasFilter ? await toOutcome(read(1)) : 'refused';
  // A wrong address would answer the same, and must not look like a tool without members.
  if (first === 'none') return await probe(scim, type, call);
  if (first === 'refused') return yield* isNeeded ? listAll(scim, type, call) : [];
  yield* readScimPages(call.purpose, async (startIndex) => (startIndex === 1 ? first.page : await read(startIndex)));
}

/** Some servers answer 404 if they find nothing. */
async function toOutcome(first: Promise<unknown>): Promise<{ page: unknown } | 'none' | 'refused'> {
  try {
    return { page: await first };
  } catch (error) {
    const status = statusOf(error);
    if (status === 404) return 'none';
    if (status === 400 || status === 501) return 'refused';
    throw error;
  }
}

const maxPages = 10_000;

/**
 * Every page of a list, from `startIndex` 1. A server may return fewer than requested, and may return
 * the first page again after the end.
 *
 * @throws AppError `invalid` for an answer that is not a list, for repeated pages, and for a list without an
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
    throw new AppError('invalid', `Could not ${purpose}: the answer is not a SCIM list`);
  }
  const items = Resources.map((item) => {
    const resource = toResource(item);
    if (resource !== undefined) return resource;
    throw new AppError('invalid', `Could not ${purpose}: one in the list has no id`);
  });
  return { total: Number(total), items };
}
