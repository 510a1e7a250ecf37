import { inTransaction } from '../db/database.ts';
import type { Hold } from '../db/lock.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { removeEndpoint, saveEndpoint } from '../installs/install-store.ts';
import { toInstant } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import type { EndpointChanges } from '../marketplace/source.ts';
import type { Endpoint } from '../marketplace/source-records.ts';
import { wantRead as wantInstallRead } from '../reconcile/read/install-state-store.ts';
import type { SubscriptionStep } from './decide-subscription.ts';
import type { Look } from './look-at-subscription.ts';
import { beginCreatingEndpoint, noteEndpointEnabled, writeSubscription } from './subscription-store.ts';
import { toShownHost } from './troubles.ts';

/** A subscription that is held, as it was when it was looked at. */
export interface HeldLook extends Look {
  hold: Hold;
  signal: AbortSignal;
}

/**
 * Applies the steps in order. A step that may have lost deliveries has the whole install read.
 *
 * @returns the id of the new endpoint, if one was made
 */
export async function applySteps(look: HeldLook, steps: readonly SubscriptionStep[]): Promise<string | null> {
  let created: string | null = null;
  for (const step of steps) {
    await look.hold.renew();
    created = (await apply(look, step)) ?? created;
    look.ctx.logger.info({ install: look.install, ...step }, 'A webhook endpoint was changed');
  }
  return created;
}

async function apply(look: HeldLook, step: SubscriptionStep): Promise<string | undefined> {
  const { ctx, install, view } = look;
  switch (step.kind) {
    case 'create':
      return await create(look, step.replaces);
    case 'renew':
      return await renew(look, step.endpointId);
    case 'settle':
      await writeSubscription(ctx, install, { creatingSince: null });
      return undefined;
    case 'adopt':
      await saveEndpoint(ctx, { install, endpointId: step.endpointId, secret: null, storedAt: now(look) });
      // The times at which others were enabled do not apply to the one that is watched from now on.
      await writeSubscription(ctx, install, { enabledAt: '[]' });
      return undefined;
    case 'move':
      return await change(look, step.endpointId, { url: view.url });
    case 'subscribe':
      return await change(look, step.endpointId, { eventTypes: step.eventTypes });
    case 'enable':
      return await enable(look, step.endpointId);
    case 'delete':
      return await remove(look, step.endpointId);
    case 'forget':
      await removeEndpoint(ctx, install, step.endpointId);
      return undefined;
  }
}

async function change(look: HeldLook, endpointId: string, changes: EndpointChanges): Promise<undefined> {
  const { source, install, signal } = look;
  if (source.updateEndpoint === undefined) throw new AppError('internal', `No endpoint of ${install} can be changed`);
  await source.updateEndpoint(endpointId, changes, signal);
  await requestRead(look);
}

/** What is known about earlier endpoints does not apply to a new one. */
const madeFirst = { creatingSince: null, enabledAt: '[]', unmatchedAt: null };
/** The same for one that takes over from another, whose count goes on. */
const madeAgain = { creatingSince: null, unmatchedAt: null };

/** The secret is shown only once, so the beginning is noted before, and the secret is stored at once. */
async function create(
  look: HeldLook,
  replaces: readonly string[],
  made: typeof madeFirst | typeof madeAgain = madeFirst,
): Promise<string> {
  const { ctx, install, source, view, hold, signal } = look;
  await beginCreatingEndpoint(ctx, install, now(look));
  for (const endpointId of replaces) {
    await hold.renew();
    await remove(look, endpointId);
  }
  await hold.renew();
  const { url, eventTypes } = view;
  const { endpoint, secret } = await source
    .createEndpoint({ url, eventTypes }, signal)
    .catch(async (thrown: unknown) => {
      const error = toAppError(thrown);
      // If endpoints were deleted for it, the next check must still make one.
      const isRefused = (error.status ?? 500) < 500 && replaces.length === 0;
      if (isRefused) await writeSubscription(ctx, install, { creatingSince: view.creatingSince });
      const others = view.listed.filter(({ id }) => !replaces.includes(id));
      throw error.code === 'conflict' && others.length > 0 ? toTooMany(error, others) : error;
    });
  await saveEndpoint(ctx, { install, endpointId: endpoint.id, secret, storedAt: now(look) });
  await writeSubscription(ctx, install, made);
  await requestRead(look);
  return endpoint.id;
}

/** Gangway deletes only endpoints that it knows, so it lists the others for the operator. */
function toTooMany(error: AppError, others: readonly Endpoint[]): AppError {
  const { message, status } = error;
  const there = others.map(({ id, url }) => `${id} to ${toShownHost(url)}`).join(', ');
  return new AppError('conflict', `${message}. Existing endpoints: ${there}`, {
    cause: error,
    ...(status && { status }),
  });
}

/** Noted before the call, or a process that dies each time would enable it for ever. */
async function enable(look: HeldLook, endpointId: string): Promise<undefined> {
  const { ctx, install, source, signal } = look;
  await noteEndpointEnabled(ctx, install, now(look));
  await change(look, endpointId, { status: 'ACTIVE' });
  raiseDisabled(look, endpointId, 'Gangway enabled it again, and requested missed deliveries');
  await source.redeliver?.(endpointId, undefined, signal);
}

/** Counts as enabling. Both secrets are accepted until the watch deletes the first one. */
async function renew(look: HeldLook, endpointId: string): Promise<string> {
  await noteEndpointEnabled(look.ctx, look.install, now(look));
  const made = await createBeside(look, [endpointId], madeAgain);
  raiseDisabled(look, endpointId, 'Another endpoint replaces it, and Gangway reads the install');
  return made.endpointId;
}

/** Makes an endpoint beside the others. Where there may be no more (409), the replaced ones are deleted first. */
export async function createBeside(
  look: HeldLook,
  replaced: readonly string[],
  made?: typeof madeAgain,
): Promise<{ endpointId: string; hadGap: boolean }> {
  try {
    return { endpointId: await create(look, [], made), hadGap: false };
  } catch (error) {
    if (toAppError(error).code !== 'conflict') throw error;
    return { endpointId: await create(look, replaced, made), hadGap: true };
  }
}

function raiseDisabled({ ctx, install, view }: Look, endpointId: string, what: string): void {
  const { status, disabledReason } = view.listed.find(({ id }) => id === endpointId) ?? {};
  if (status !== 'DISABLED') return;
  ctx.alerts.raise('endpoint_disabled', { install, endpointId, reason: maskText(disabledReason ?? '') }, what);
}

/** The marketplace discards what it had still to deliver. */
async function remove(look: HeldLook, endpointId: string): Promise<undefined> {
  try {
    await look.source.deleteEndpoint(endpointId, look.signal);
  } catch (error) {
    if (toAppError(error).code !== 'not_found') throw error;
  }
  await removeEndpoint(look.ctx, look.install, endpointId);
  await requestRead(look);
}

async function requestRead(look: Look): Promise<void> {
  await inTransaction(look.ctx.database, (tx) => wantInstallRead(tx, [look.install], now(look)));
}

function now({ ctx }: Look): string {
  return toInstant(ctx.clock.now());
}
