import { unless } from '../tool-request.ts';
import { isObject } from './resource.ts';
import type { ScimApi, ScimCall } from './scim-api.ts';

/** The parts of `/ServiceProviderConfig` that matter. */
export interface Dialect {
  hasPatch: boolean;
  hasFilter: boolean;
  /** How many resources to request at a time. */
  pageSize: number;
}

export interface Discovery {
  /** As it was first read. Call `refresh`, because a new version of the server may change it. */
  read(signal: AbortSignal): Promise<Dialect>;
  refresh(signal: AbortSignal): Promise<Dialect>;
}

const pageSize = 100;

export function createDiscovery(api: ScimApi): Discovery {
  let known: Dialect | undefined;

  async function refresh(signal: AbortSignal): Promise<Dialect> {
    const call: ScimCall = { purpose: 'read what the server supports', signal };
    // Not every server has or shows it. Then the features are tried.
    const none = [400, 403, 404, 405, 501];
    known = toDialect(await unless(none, api.get('/ServiceProviderConfig', {}, call)));
    return known;
  }

  return { refresh, read: async (signal) => known ?? (await refresh(signal)) };
}

/** A feature that is not mentioned is taken as supported, because most servers have it. */
function toDialect(answer: unknown): Dialect {
  const config = isObject(answer) ? answer : {};
  const filter = isObject(config['filter']) ? config['filter'] : {};
  const patch = isObject(config['patch']) ? config['patch'] : {};
  const most = filter['maxResults'];
  const hasLimit = typeof most === 'number' && Number.isSafeInteger(most) && most > 0;
  return {
    hasPatch: patch['supported'] !== false,
    hasFilter: filter['supported'] !== false,
    pageSize: hasLimit ? Math.min(most, pageSize) : pageSize,
  };
}
