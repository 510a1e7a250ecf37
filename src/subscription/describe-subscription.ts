import type { Context } from '../context.ts';
import { AppError } from '../domain/errors.ts';
import { endpointsOf } from '../installs/endpoint-store.ts';
import type { Endpoint } from '../sources/record-schema.ts';
import { decideSubscription, missingTypesOf } from './decide-subscription.ts';
import { listEndpoints, lookAtSubscription, sourceOf } from './look-at-subscription.ts';
import { type SubscriptionView, sortEndpoints } from './sort-endpoints.ts';
import { findSubscription } from './subscription-store.ts';
import { toShownUrl } from './troubles.ts';

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
