import type { WebhookEndpoint } from '../../marketplace/platform-schema.ts';
import { isAt } from './endpoint-url.ts';

/** What is known of an install's subscription here, and what the marketplace says of it. */
export interface SubscriptionView {
  /** Where its deliveries are to go. */
  url: string;
  /** What the marketplace has, of those that are stored each by its id too. */
  listed: readonly WebhookEndpoint[];
  stored: readonly KnownEndpoint[];
  /** Whether the configuration has a secret for it: an endpoint made by hand is taken to use it. */
  hasConfiguredSecrets: boolean;
  /** Since when an endpoint may be there whose secret nobody stored. */
  creatingSince: string | null;
  /** When it was enabled again: the last three times, oldest first. */
  enabledAt: readonly string[];
  /** When a delivery was last refused because no secret matched. */
  unmatchedAt: string | null;
  /** When a delivery was last accepted, as far as that is later than what it is compared with. */
  acceptedAt: string | null;
  now: string;
}

export interface KnownEndpoint {
  endpointId: string;
  hasSecret: boolean;
  storedAt: string;
}

/** The endpoints of an install by what they are to us. */
export interface SortedEndpoints {
  /** They deliver here, and we can verify what they sign; the one stored last first. */
  usable: WebhookEndpoint[];
  /** They deliver here, and whether we have their secret is not known; the newest first. */
  strangers: WebhookEndpoint[];
  /** Ours, but they deliver to another address. */
  elsewhere: WebhookEndpoint[];
  /** Ours, and the marketplace has them no more. */
  gone: string[];
}

export function sortEndpoints(view: SubscriptionView): SortedEndpoints {
  const { url, listed, stored, hasConfiguredSecrets } = view;
  const known = new Map(stored.map((endpoint) => [endpoint.endpointId, endpoint]));
  const here = listed.filter((endpoint) => isAt(url, endpoint.url));
  const isUsable = ({ id }: WebhookEndpoint) => {
    const endpoint = known.get(id);
    return endpoint !== undefined && (endpoint.hasSecret || hasConfiguredSecrets);
  };
  const storedAt = ({ id }: WebhookEndpoint) => known.get(id)?.storedAt ?? '';
  return {
    usable: here.filter(isUsable).sort((a, b) => (storedAt(a) < storedAt(b) ? 1 : -1)),
    strangers: here
      .filter((endpoint) => !isUsable(endpoint))
      .sort((a, b) => ((a.createdAt ?? '') < (b.createdAt ?? '') ? 1 : -1)),
    elsewhere: listed.filter((endpoint) => known.has(endpoint.id) && !isAt(url, endpoint.url)),
    gone: [...known.keys()].filter((id) => !listed.some((endpoint) => endpoint.id === id)),
  };
}
