import { statusOf } from '../../lib/rest-client.ts';
import type { Discovery } from './discovery.ts';
import { readScimPages } from './read-pages.ts';
import type { Resource } from './resource.ts';
import type { Query, ResourceType, ScimApi, ScimCall } from './scim-api.ts';

/** Searches users and groups on servers that filter, that refuse filters, or that ignore them. */
export interface Search {
  /** All resources, page by page. */
  all(type: ResourceType, call: ScimCall): AsyncGenerator<Resource>;
  /**
   * The resources with a value, and maybe others: a server that ignores filters returns everything. The
   * caller must check each.
   */
  by(type: ResourceType, filter: Filter, call: ScimCall): AsyncGenerator<Resource>;
  /** Proves that the list can be read. */
  probe(type: ResourceType, call: ScimCall): Promise<void>;
}

export interface Filter {
  attribute: string;
  value: string;
  /** Whether to read everything if the server does not know this filter. */
  isNeeded: boolean;
  /** Further parameters of the query. */
  also?: Query;
}

export function createSearch(api: ScimApi, discovery: Discovery): Search {
  const readAt = (type: ResourceType, query: Query, call: ScimCall) => api.get(`/${type}`, query, call);

  async function* all(type: ResourceType, call: ScimCall): AsyncGenerator<Resource> {
    const { pageSize: count } = await discovery.read(call.signal);
    yield* readScimPages(call.purpose, (startIndex) => readAt(type, { startIndex, count }, call));
  }

  async function probe(type: ResourceType, call: ScimCall): Promise<void> {
    const first = readAt(type, { startIndex: 1, count: 1 }, call);
    await readScimPages(call.purpose, () => first).next();
  }

  return {
    all,
    probe,
    async *by(type, { attribute, value, isNeeded, also }, call) {
      const { hasFilter, pageSize: count } = await discovery.read(call.signal);
      const filter = `${attribute} eq ${JSON.stringify(value)}`;
      const hiding = { ...call, hidden: [...(call.hidden ?? []), value] };
      const read = (startIndex: number) => readAt(type, { filter, startIndex, count, ...also }, hiding);
      const first = hasFilter ? await toOutcome(read(1)) : 'refused';
      // A wrong address would answer the same, and must not look like a tool without members.
      if (first === 'none') return await probe(type, call);
      if (first === 'refused') return yield* isNeeded ? all(type, call) : [];
      yield* readScimPages(call.purpose, async (startIndex) =>
        startIndex === 1 ? first.page : await read(startIndex),
      );
    },
  };
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
