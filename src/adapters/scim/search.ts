import type { Discovery } from './discovery.ts';
import { readPages } from './read-pages.ts';
import type { Resource } from './resource.ts';
import { type Query, type ResourceType, type ScimApi, type ScimCall, statusOf } from './scim-api.ts';

/** Looking for users and groups, at servers that filter, that refuse to, and that do not care. */
export interface Search {
  /** Every page of everything. */
  all(type: ResourceType, call: ScimCall): AsyncGenerator<Resource>;
  /**
   * Those that have a value, and whatever else the server shows: one that ignores filters shows
   * everything. Look at each.
   */
  by(type: ResourceType, filter: Filter, call: ScimCall): AsyncGenerator<Resource>;
  /** Proves that the list can be read. */
  probe(type: ResourceType, call: ScimCall): Promise<void>;
}

export interface Filter {
  attribute: string;
  value: string;
  /** Where the server does not know this filter: whether to read everything instead of nothing. */
  isNeeded: boolean;
  /** Of the query, besides. */
  also?: Query;
}

export function createSearch(api: ScimApi, discovery: Discovery): Search {
  const readAt = (type: ResourceType, query: Query, call: ScimCall) => api.get(`/${type}`, query, call);

  async function* all(type: ResourceType, call: ScimCall): AsyncGenerator<Resource> {
    const { pageSize: count } = await discovery.read(call.signal);
    yield* readPages(call.purpose, (startIndex) => readAt(type, { startIndex, count }, call));
  }

  async function probe(type: ResourceType, call: ScimCall): Promise<void> {
    const first = readAt(type, { startIndex: 1, count: 1 }, call);
    await readPages(call.purpose, () => first).next();
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
      // So would a wrong address answer, which must not look like a tool that everybody has left.
      if (first === 'nobody') return await probe(type, call);
      if (first === 'refused') return yield* isNeeded ? all(type, call) : [];
      yield* readPages(call.purpose, async (startIndex) => (startIndex === 1 ? first.page : await read(startIndex)));
    },
  };
}

/** Some answer 404 where nobody is found. */
async function toOutcome(first: Promise<unknown>): Promise<{ page: unknown } | 'nobody' | 'refused'> {
  try {
    return { page: await first };
  } catch (error) {
    const status = statusOf(error);
    if (status === 404) return 'nobody';
    if (status === 400 || status === 501) return 'refused';
    throw error;
  }
}
