import type { Context } from '../context.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { endpointsOf } from '../installs/install-store.ts';
import { toInstant } from '../lib/clock.ts';
import type { Source } from '../marketplace/source.ts';
import type { Endpoint } from '../marketplace/source-records.ts';
import {
  decideSubscription,
  endpointUrlOf,
  missingTypesOf,
  type SubscriptionView,
  sortEndpoints,
} from './decide-subscription.ts';
import { findSubscription, lastAcceptedDelivery, type SubscriptionRecord } from './subscription-store.ts';
import { toShownUrl } from './troubles.ts';

// This folder keeps deliveries coming. It watches the webhook endpoint of each install at the
// marketplace. It stores a secret before it is needed, and makes no endpoint twice. It never changes
// an endpoint that delivers to another address, unless an operator asks for it.

/** The state of a subscription, and the source to change it at. */
export interface Look {
  ctx: Context;
  install: string;
  source: Source;
  view: SubscriptionView;
}

/**
 * Asks the marketplace for the endpoints of an install. A stored endpoint that is not in the list is
 * asked for by its id, because an empty list alone would make it a second time.
 *
 * @throws AppError `invalid` without a public address; otherwise the error of the marketplace
 */
export async function lookAtSubscription(ctx: Context, install: string, signal: AbortSignal): Promise<Look> {
  const url = urlOf(ctx, install);
  const source = sourceOf(ctx, install);
  const stored = await endpointsOf(ctx, install);
  const ids = stored.map(({ endpointId }) => endpointId);
  const listed = await listEndpoints(source, ids, signal);
  const { creatingSince, enabledAt, unmatchedAt } = await findSubscription(ctx, install);
  const acceptedAt = await findAccepted(ctx, install, listed, { enabledAt, unmatchedAt });
  const known = stored.map(({ secret, ...endpoint }) => ({
    ...endpoint,
    hasSecret: secret !== null,
  }));
  const view = {
    url,
    eventTypes: await source.listEventTypes(signal),
    isChangeable: source.updateEndpoint !== undefined,
    listed,
    stored: known,
    creatingSince,
    enabledAt,
    unmatchedAt,
    acceptedAt,
    hasConfiguredSecrets: (ctx.config.installs.get(install)?.webhookSecrets.length ?? 0) > 0,
    now: toInstant(ctx.clock.now()),
  };
  return { ctx, install, source, view };
}

/** @throws AppError `invalid` if no public address is configured */
function urlOf({ config }: Context, install: string): string {
  const { publicUrl } = config.receiver;
  if (publicUrl !== undefined) return endpointUrlOf(publicUrl, install);
  throw new AppError('invalid', 'receiver.publicUrl is not configured. The marketplace needs it to deliver');
}

/** @throws AppError `not_found` */
export function sourceOf({ sources }: Context, install: string): Source {
  const source = sources.get(install);
  if (source !== undefined) return source;
  throw new AppError('not_found', `There is no install ${install}`);
}

/** All listed endpoints, and those of `ids` that exist without being listed. */
async function listEndpoints(source: Source, ids: readonly string[], signal: AbortSignal): Promise<Endpoint[]> {
  const listed = await source.listEndpoints(signal);
  const missing = ids.filter((id) => !listed.some((endpoint) => endpoint.id === id));
  const found: Endpoint[] = [];
  for (const id of missing) {
    try {
      found.push(await source.readEndpoint(id, signal));
    } catch (error) {
      if (toAppError(error).code !== 'not_found') throw error;
    }
  }
  return [...listed, ...found];
}

/** Reads it only if it matters: if an endpoint is disabled, or if a delivery was refused. */
async function findAccepted(
  ctx: Context,
  install: string,
  listed: readonly Endpoint[],
  { enabledAt, unmatchedAt }: Pick<SubscriptionRecord, 'enabledAt' | 'unmatchedAt'>,
): Promise<string | null> {
  const [since] = [...enabledAt, ...(unmatchedAt === null ? [] : [unmatchedAt])].sort();
  const isAsked = unmatchedAt !== null || listed.some(({ status }) => status === 'DISABLED');
  if (!isAsked || since === undefined) return null;
  return await lastAcceptedDelivery(ctx, install, since);
}

/** The webhook endpoint that delivers here, else one of ours, and what the watch noted. Changes nothing. @throws AppError as `lookAtSubscription` */
export async function describeSubscription(ctx: Context, install: string, signal: AbortSignal) {
  const { view } = await lookAtSubscription(ctx, install, signal);
  const { checkedAt } = await findSubscription(ctx, install);
  const { trouble } = decideSubscription(install, view);
  const endpoint = mainOf(view);
  return {
    install,
    endpointId: endpoint?.id ?? null,
    url: endpoint?.url === undefined ? null : toShownUrl(endpoint.url),
    status: endpoint?.status ?? null,
    missingEventTypes: endpoint === undefined ? [] : missingTypesOf(view, endpoint),
    consecutiveFailures: endpoint?.consecutiveFailures ?? null,
    checkedAt,
    trouble: trouble?.says ?? null,
    action: trouble?.action ?? null,
  };
}

function mainOf(view: SubscriptionView): Endpoint | undefined {
  const { usable, strangers, elsewhere } = sortEndpoints(view);
  return [...usable, ...strangers, ...elsewhere][0];
}

/**
 * Has the marketplace send the failed deliveries again, or one delivery whatever its status. Without
 * a stored endpoint and without a public address, it takes the only endpoint of the install.
 *
 * @throws AppError `not_found` if there is no such endpoint or delivery, `conflict` if the source can send nothing again
 */
export async function redeliver(ctx: Context, install: string, deliveryId: string | undefined, signal: AbortSignal) {
  const source = sourceOf(ctx, install);
  if (source.redeliver === undefined) throw cannotRedeliver(install);
  const endpoint =
    ctx.config.receiver.publicUrl === undefined
      ? await findWithoutAddress(ctx, install, signal)
      : mainOf((await lookAtSubscription(ctx, install, signal)).view);
  if (endpoint === undefined) {
    throw new AppError('not_found', `Gangway knows no webhook endpoint of ${install}`);
  }
  const { id: endpointId, status } = endpoint;
  return { endpointId, status, requeued: await source.redeliver(endpointId, deliveryId, signal) };
}

async function findWithoutAddress(ctx: Context, install: string, signal: AbortSignal): Promise<Endpoint | undefined> {
  const stored = (await endpointsOf(ctx, install)).map(({ endpointId }) => endpointId);
  const listed = await listEndpoints(sourceOf(ctx, install), stored, signal);
  const known = listed.find(({ id }) => stored.includes(id));
  return known ?? (listed.length === 1 ? listed[0] : undefined);
}

function cannotRedeliver(install: string): AppError {
  return new AppError(
    'conflict',
    `The marketplace cannot redeliver webhooks of ${install}. Run "gangway reconcile --install ${install}" to read it instead`,
  );
}
