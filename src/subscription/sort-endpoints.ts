import type { Endpoint } from '../sources/record-schema.ts';
import { isAt } from './endpoint-url.ts';

/** What is stored of an install's subscription, and what the marketplace says about it. */
export interface SubscriptionView {
  /** The address to which the marketplace should deliver. */
  url: string;
  /** The events that should be delivered. */
  eventTypes: readonly string[];
  /** Whether an endpoint can be changed. If not, another one is made to take over from it. */
  isChangeable: boolean;
  /** The endpoints that the marketplace has. Stored ones were also asked for by their ids. */
  listed: readonly Endpoint[];
  stored: readonly KnownEndpoint[];
  /** Whether the configuration has a secret. An endpoint that was made by hand is taken to use it. */
  hasConfiguredSecrets: boolean;
  /** Since when an endpoint may exist whose secret is not stored. */
  creatingSince: string | null;
  /** The last three times at which it was enabled again, oldest first. */
  enabledAt: readonly string[];
  /** When a delivery was last refused because no secret matched. */
  unmatchedAt: string | null;
  /** When a delivery was last accepted, if that is later than the times it is compared with. */
  acceptedAt: string | null;
  now: string;
}

export interface KnownEndpoint {
  endpointId: string;
  hasSecret: boolean;
  storedAt: string;
}

/** The endpoints of an install by what they mean to Gangway. */
export interface SortedEndpoints {
  /** They deliver here and their signatures can be verified; the one stored last comes first. */
  usable: Endpoint[];
  /** They deliver here, but it is unknown whether their secret is known; the newest comes first. */
  strangers: Endpoint[];
  /** Stored here, but they deliver to another address. */
  elsewhere: Endpoint[];
  /** Stored here, but the marketplace does not have them any more. */
  gone: string[];
}

export function sortEndpoints(view: SubscriptionView): SortedEndpoints {
  const { url, listed, stored, hasConfiguredSecrets } = view;
  const known = new Map(stored.map((endpoint) => [endpoint.endpointId, endpoint]));
  const here = listed.filter((endpoint) => isAt(url, endpoint.url));
  const isUsable = ({ id }: Endpoint) => {
    const endpoint = known.get(id);
    return endpoint !== undefined && (endpoint.hasSecret || hasConfiguredSecrets);
  };
  const storedAt = ({ id }: Endpoint) => known.get(id)?.storedAt ?? '';
  return {
    usable: here.filter(isUsable).sort((a, b) => (storedAt(a) < storedAt(b) ? 1 : -1)),
    strangers: here
      .filter((endpoint) => !isUsable(endpoint))
      .sort((a, b) => ((a.createdAt ?? '') < (b.createdAt ?? '') ? 1 : -1)),
    elsewhere: listed.filter((endpoint) => known.has(endpoint.id) && !isAt(url, endpoint.url)),
    gone: [...known.keys()].filter((id) => !listed.some((endpoint) => endpoint.id === id)),
  };
}
