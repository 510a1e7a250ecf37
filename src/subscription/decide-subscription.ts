import { isEventType } from '../domain/event.ts';
import { dayMs, hourMs } from '../lib/clock.ts';
import type { Endpoint } from '../marketplace/source-records.ts';
import { type Trouble, toTroubles } from './troubles.ts';

/** The address to which the marketplace delivers for an install. */
export function endpointUrlOf(publicUrl: string, install: string): string {
  return `${publicUrl}/webhooks/${install}`;
}

/** Compares addresses as URLs: the marketplace may return `https://Bridge.example.com` in lower case. */
export function isAt(url: string, other: string | undefined): boolean {
  if (other === undefined || !URL.canParse(other)) return false;
  return new URL(other).href === new URL(url).href;
}

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

/** One change at the marketplace, or of what is stored about it. */
export type SubscriptionStep =
  /** Deletes the replaced ones first, because the number of endpoints is limited. */
  | { kind: 'create'; replaces: readonly string[] }
  /** Makes another one beside this one, which takes over. The watch deletes this one later. */
  | { kind: 'renew'; endpointId: string }
  /** No endpoint is being created any more. */
  | { kind: 'settle' }
  /** A change of an endpoint that exists or existed. */
  | { kind: 'adopt' | 'move' | 'enable' | 'delete' | 'forget'; endpointId: string }
  | { kind: 'subscribe'; endpointId: string; eventTypes: readonly string[] };

export interface SubscriptionDecision {
  steps: SubscriptionStep[];
  /** What Gangway does not repair by itself. */
  trouble: Trouble | null;
}

/** At most this often a day, because enabling or renewing does not repair what disables it again and again. */
export const maxEnabled = 3;
/** How long two endpoints exist side by side, so that every instance loads the new secret. */
export const overlapMs = 5000;

/**
 * What the watch does about an install's subscription. It never makes the first endpoint and never
 * changes one that delivers to another address. An operator does that with `gangway connect`.
 */
export function decideSubscription(install: string, view: SubscriptionView): SubscriptionDecision {
  const sorted = sortEndpoints(view);
  const { usable, strangers, elsewhere, gone } = sorted;
  const troubles = toTroubles(install);
  const [current] = usable;
  if (current !== undefined) return maintain(install, view, sorted, current);
  if (view.creatingSince !== null) return { steps: create(strangers, gone), trouble: null };
  const [newest, ...others] = strangers;
  if (newest !== undefined) {
    if (!view.hasConfiguredSecrets) {
      return { steps: [], trouble: troubles.secretUnknown(newest.id) };
    }
    const adopted = { ...sorted, strangers: others };
    // The times at which another endpoint was enabled say nothing about this one.
    const { steps, trouble } = maintain(install, { ...view, enabledAt: [] }, adopted, newest);
    return { steps: [{ kind: 'adopt', endpointId: newest.id }, ...steps], trouble };
  }
  const [moved] = elsewhere;
  if (moved !== undefined) return { steps: [], trouble: toElsewhere(install, moved) };
  if (gone.length > 0) return { steps: create([], gone), trouble: null };
  return { steps: [], trouble: troubles.none };
}

/** Forgets the gone endpoints last: as long as one is stored, an endpoint is made again. */
export function create(replaced: readonly Endpoint[], gone: readonly string[]): SubscriptionStep[] {
  return [{ kind: 'create', replaces: replaced.map(({ id }) => id) }, ...forget(gone)];
}

function maintain(
  install: string,
  view: SubscriptionView,
  sorted: SortedEndpoints,
  current: Endpoint,
): SubscriptionDecision {
  const [stranger] = sorted.strangers;
  const [moved] = sorted.elsewhere;
  const enabling = decideEnabling(install, view, current);
  const isTroubledByOthers = view.creatingSince === null && !view.hasConfiguredSecrets;
  const others =
    stranger !== undefined && isTroubledByOthers
      ? toTroubles(install).another(stranger.id)
      : moved && toElsewhere(install, moved);
  return {
    steps: tidy(view, sorted, current, enabling.isToEnable),
    trouble: enabling.trouble ?? others ?? null,
  };
}

/** Everything that a known endpoint needs. */
export function tidy(
  view: SubscriptionView,
  { usable, strangers, gone }: SortedEndpoints,
  current: Endpoint,
  isToEnable: boolean,
): SubscriptionStep[] {
  const deleted = [
    ...(view.creatingSince === null ? [] : strangers),
    ...(isOverlapOver(view, current) ? usable.filter(({ id }) => id !== current.id) : []),
  ];
  return [
    ...mend(view, current, isToEnable),
    ...deleted.map(({ id }) => ({ kind: 'delete' as const, endpointId: id })),
    ...forget(gone),
    ...(view.creatingSince === null ? [] : [{ kind: 'settle' as const }]),
  ];
}

function forget(gone: readonly string[]): SubscriptionStep[] {
  return gone.map((endpointId) => ({ kind: 'forget', endpointId }));
}

/** The event types that Gangway uses and the endpoint lacks; none if the marketplace does not show its types. */
export function missingTypesOf(
  { eventTypes }: Pick<SubscriptionView, 'eventTypes'>,
  { eventTypes: types }: Endpoint,
): string[] {
  return types === undefined ? [] : eventTypes.filter((type) => isEventType(type) && !types.includes(type));
}

/** Has the endpoint enabled, and subscribed to what it misses. */
function mend(view: SubscriptionView, endpoint: Endpoint, isToEnable: boolean): SubscriptionStep[] {
  const endpointId = endpoint.id;
  const missing = missingTypesOf(view, endpoint);
  if (!view.isChangeable) {
    const isRenewed = isToEnable || (missing.length > 0 && isRested(view));
    return isRenewed ? [{ kind: 'renew', endpointId }] : [];
  }
  const types = [...(endpoint.eventTypes ?? []), ...missing];
  return [
    ...(isToEnable ? [{ kind: 'enable' as const, endpointId }] : []),
    ...(missing.length > 0 ? [{ kind: 'subscribe' as const, endpointId, eventTypes: types }] : []),
  ];
}

/** The times within a day at which it was enabled or renewed. */
function enabledLately({ enabledAt, now }: SubscriptionView): string[] {
  return enabledAt.filter((at) => Date.parse(now) - Date.parse(at) < dayMs);
}

/** Whether it may be renewed without need: a marketplace that leaves a type out would have it renewed for ever. */
function isRested(view: SubscriptionView): boolean {
  const lately = enabledLately(view);
  const lastAt = lately.at(-1);
  const hasRested = lastAt === undefined || Date.parse(view.now) - Date.parse(lastAt) >= hourMs;
  return lately.length < maxEnabled && hasRested;
}

function isOverlapOver({ stored, now }: SubscriptionView, current: Endpoint): boolean {
  const known = stored.find(({ endpointId }) => endpointId === current.id);
  return known !== undefined && Date.parse(now) - Date.parse(known.storedAt) >= overlapMs;
}

/** Whether the last delivery was refused because no known secret matched. */
function isUnmatched({ unmatchedAt, acceptedAt }: SubscriptionView): boolean {
  return unmatchedAt !== null && (acceptedAt ?? '') < unmatchedAt;
}

/** If the marketplace counts no failures, it did not send the refused request. */
function findRefused(install: string, view: SubscriptionView, { consecutiveFailures }: Endpoint): Trouble | null {
  if (!isUnmatched(view) || consecutiveFailures === 0) return null;
  return toTroubles(install).unknownSecret(view.unmatchedAt ?? '');
}

interface EnablingDecision extends Pick<SubscriptionDecision, 'trouble'> {
  isToEnable: boolean;
}

function decideEnabling(install: string, view: SubscriptionView, endpoint: Endpoint): EnablingDecision {
  const { acceptedAt } = view;
  const troubles = toTroubles(install);
  if (endpoint.status !== 'DISABLED') {
    return { isToEnable: false, trouble: findRefused(install, view, endpoint) };
  }
  if (isUnmatched(view)) return { isToEnable: false, trouble: troubles.unmatched };
  const nowMs = Date.parse(view.now);
  const lately = enabledLately(view);
  if (lately.length >= maxEnabled) {
    return { isToEnable: false, trouble: troubles.keepsFailing(lately.length) };
  }
  const lastAt = lately.at(-1);
  if (lastAt !== undefined && nowMs - Date.parse(lastAt) < hourMs) {
    const hasHelped = (acceptedAt ?? '') >= lastAt;
    // An endpoint that was disabled by hand has no failures, so enabling it has not failed.
    const hasFailed = (endpoint.consecutiveFailures ?? 0) > 0;
    if (hasFailed && !hasHelped) return { isToEnable: false, trouble: troubles.failedAgain(lastAt) };
  }
  return { isToEnable: true, trouble: null };
}

function toElsewhere(install: string, { id, url }: Endpoint): Trouble {
  return toTroubles(install).elsewhere(id, url);
}
