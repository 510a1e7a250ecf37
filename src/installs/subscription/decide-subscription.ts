import { type EventType, eventTypes } from '../../domain/event.ts';
import type { WebhookEndpoint } from '../../marketplace/platform-schema.ts';
import { type SortedEndpoints, type SubscriptionView, sortEndpoints } from './sort-endpoints.ts';
import { type Trouble, toTroubles } from './troubles.ts';

/** One thing to be done at the marketplace, or to what is stored of it. */
export type SubscriptionStep =
  /** Deletes those first, as their place may be needed. For all event types, unless told. */
  | { kind: 'create'; replaces: readonly string[]; eventTypes?: readonly EventType[] }
  /** Nothing is being created any more. */
  | { kind: 'settle' }
  | StepAbout;

/** What is done to an endpoint that is there, or was. */
export type StepAbout =
  | { kind: 'adopt' | 'move' | 'enable' | 'delete' | 'forget'; endpointId: string }
  | { kind: 'subscribe'; endpointId: string; eventTypes: readonly string[] };

export interface SubscriptionDecision {
  steps: SubscriptionStep[];
  /** What is not to be mended by itself. */
  trouble: Trouble | null;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** So often in a day, because what disables it again and again is not mended by enabling it. */
export const maxEnabled = 3;
/** How long two endpoints stand side by side, so that every instance has loaded the new secret. */
export const overlapMs = 5000;

/**
 * What the watch is to do about an install's subscription. It never makes the first endpoint and
 * never changes one that delivers elsewhere: that is asked for with `gangway connect`.
 */
export function decideSubscription(install: string, view: SubscriptionView): SubscriptionDecision {
  const sorted = sortEndpoints(view);
  const { usable, strangers, elsewhere, gone } = sorted;
  const troubles = toTroubles(install);
  const [current] = usable;
  if (current !== undefined) return tend(install, view, sorted, current);
  if (view.creatingSince !== null) return { steps: create(strangers, gone), trouble: null };
  const [newest, ...others] = strangers;
  if (newest !== undefined) {
    if (!view.hasConfiguredSecrets) {
      return { steps: [], trouble: troubles.secretUnknown(newest.id) };
    }
    const adopted = { ...sorted, strangers: others };
    // When another one was enabled says nothing about this one.
    const { steps, trouble } = tend(install, { ...view, enabledAt: [] }, adopted, newest);
    return { steps: [{ kind: 'adopt', endpointId: newest.id }, ...steps], trouble };
  }
  const [moved] = elsewhere;
  if (moved !== undefined) return { steps: [], trouble: toElsewhere(install, moved) };
  if (gone.length > 0) return { steps: create([], gone), trouble: null };
  return { steps: [], trouble: troubles.none };
}

/** Forgets what is gone last: as long as it is known, an endpoint is made again. */
export function create(replaced: readonly WebhookEndpoint[], gone: readonly string[]): SubscriptionStep[] {
  return [{ kind: 'create', replaces: replaced.map(({ id }) => id) }, ...forget(gone)];
}

function tend(
  install: string,
  view: SubscriptionView,
  sorted: SortedEndpoints,
  current: WebhookEndpoint,
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
    steps: [...enabling.steps, ...tidy(view, sorted, current)],
    trouble: enabling.trouble ?? others ?? null,
  };
}

/** Everything but enabling it: what an endpoint needs that is there and known. */
export function tidy(
  view: SubscriptionView,
  { usable, strangers, gone }: SortedEndpoints,
  current: WebhookEndpoint,
): SubscriptionStep[] {
  const deleted = [
    ...(view.creatingSince === null ? [] : strangers),
    ...(isOverlapOver(view, current) ? usable.filter(({ id }) => id !== current.id) : []),
  ];
  return [
    ...subscribe(current),
    ...deleted.map(({ id }) => ({ kind: 'delete' as const, endpointId: id })),
    ...forget(gone),
    ...(view.creatingSince === null ? [] : [{ kind: 'settle' as const }]),
  ];
}

function forget(gone: readonly string[]): SubscriptionStep[] {
  return gone.map((endpointId) => ({ kind: 'forget', endpointId }));
}

/** Those that a marketplace does not tell are taken to be all there. */
export function missingTypesOf({ eventTypes: types }: WebhookEndpoint): string[] {
  return types === undefined ? [] : eventTypes.filter((type) => !types.includes(type));
}

function subscribe(endpoint: WebhookEndpoint): SubscriptionStep[] {
  const missing = missingTypesOf(endpoint);
  if (missing.length === 0) return [];
  const types = [...(endpoint.eventTypes ?? []), ...missing];
  return [{ kind: 'subscribe', endpointId: endpoint.id, eventTypes: types }];
}

function isOverlapOver({ stored, now }: SubscriptionView, current: WebhookEndpoint): boolean {
  const known = stored.find(({ endpointId }) => endpointId === current.id);
  return known !== undefined && Date.parse(now) - Date.parse(known.storedAt) >= overlapMs;
}

/** Whether what came last was refused, as no secret of it is known here. */
function isUnmatched({ unmatchedAt, acceptedAt }: SubscriptionView): boolean {
  return unmatchedAt !== null && (acceptedAt ?? '') < unmatchedAt;
}

/** A marketplace that has failed at nothing did not send it. */
function findRefused(
  install: string,
  view: SubscriptionView,
  { consecutiveFailures }: WebhookEndpoint,
): Trouble | null {
  if (!isUnmatched(view) || consecutiveFailures === 0) return null;
  return toTroubles(install).unknownSecret(view.unmatchedAt ?? '');
}

function decideEnabling(install: string, view: SubscriptionView, endpoint: WebhookEndpoint): SubscriptionDecision {
  const { acceptedAt, enabledAt } = view;
  const troubles = toTroubles(install);
  if (endpoint.status !== 'DISABLED') {
    return { steps: [], trouble: findRefused(install, view, endpoint) };
  }
  if (isUnmatched(view)) return { steps: [], trouble: troubles.unmatched };
  const nowMs = Date.parse(view.now);
  const lately = enabledAt.filter((at) => nowMs - Date.parse(at) < dayMs);
  if (lately.length >= maxEnabled) {
    return { steps: [], trouble: troubles.keepsFailing(lately.length) };
  }
  const lastAt = lately.at(-1);
  if (lastAt !== undefined && nowMs - Date.parse(lastAt) < hourMs) {
    const hasHelped = (acceptedAt ?? '') >= lastAt;
    // Whoever disabled it by hand has none: that is not what enabling it did not help against.
    const hasFailed = (endpoint.consecutiveFailures ?? 0) > 0;
    if (hasFailed && !hasHelped) return { steps: [], trouble: troubles.failedAgain(lastAt) };
  }
  return { steps: [{ kind: 'enable', endpointId: endpoint.id }], trouble: null };
}

function toElsewhere(install: string, { id, url }: WebhookEndpoint): Trouble {
  return toTroubles(install).elsewhere(id, url);
}
