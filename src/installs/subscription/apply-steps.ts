import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import type { Hold } from '../../db/with-lock.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import { toInstant } from '../../lib/clock.ts';
import { maskText } from '../../lib/mask.ts';
import { wantRead as wantInstallRead } from '../../reconcile/read/install-state-store.ts';
import type { Endpoint, EndpointChanges } from '../../sources/endpoint.ts';
import { removeEndpoint, saveEndpoint } from '../endpoint-store.ts';
import type { StepAbout, SubscriptionStep } from './decide-subscription.ts';
import type { Look } from './look-at-subscription.ts';
import {
  beginCreatingEndpoint,
  giveUpCreatingEndpoint,
  noteEndpointAdopted,
  noteEndpointCreated,
  noteEndpointEnabled,
  noteEndpointRenewed,
} from './subscription-store.ts';
import { toShownHost } from './troubles.ts';

/**
 * Applies the steps in order. A step that may have lost deliveries has the whole install read.
 *
 * @returns the id of the new endpoint, if one was made
 */
export async function applySteps(
  ctx: Context,
  look: Look,
  hold: Hold,
  steps: readonly SubscriptionStep[],
  signal: AbortSignal,
): Promise<string | null> {
  let created: string | null = null;
  for (const step of steps) {
    await hold.renew();
    if (step.kind === 'create') created = await create(ctx, look, hold, step, signal);
    else if (step.kind === 'renew') created = await renew(ctx, look, hold, step.endpointId, signal);
    else if (step.kind === 'settle') await giveUpCreatingEndpoint(ctx, look.install, null);
    else await changeEndpoint(ctx, look, step, signal);
    ctx.logger.info({ install: look.install, ...step }, 'A webhook endpoint was changed');
  }
  return created;
}

async function changeEndpoint(ctx: Context, look: Look, step: StepAbout, signal: AbortSignal): Promise<void> {
  const { install } = look;
  const { endpointId } = step;
  switch (step.kind) {
    case 'adopt':
      return await adopt(ctx, install, endpointId);
    case 'move':
      return await change(ctx, look, endpointId, { url: look.view.url }, signal);
    case 'subscribe':
      return await change(ctx, look, endpointId, { eventTypes: step.eventTypes }, signal);
    case 'enable':
      return await enable(ctx, look, endpointId, signal);
    case 'delete':
      return await remove(ctx, look, endpointId, signal);
    case 'forget':
      return await removeEndpoint(ctx, install, endpointId);
  }
}

async function change(
  ctx: Context,
  look: Look,
  endpointId: string,
  changes: EndpointChanges,
  signal: AbortSignal,
): Promise<void> {
  await update(look, endpointId, changes, signal);
  await requestRead(ctx, look.install);
}

async function update(
  { source, install }: Look,
  endpointId: string,
  changes: EndpointChanges,
  signal: AbortSignal,
): Promise<void> {
  if (source.updateEndpoint === undefined) throw new AppError('internal', `No endpoint of ${install} can be changed`);
  await source.updateEndpoint(endpointId, changes, signal);
}

/** The secret is shown only once, so the beginning is noted before, and the secret is stored at once. */
async function create(
  ctx: Context,
  look: Look,
  hold: Hold,
  { replaces, eventTypes: types = look.view.eventTypes }: Omit<Extract<SubscriptionStep, { kind: 'create' }>, 'kind'>,
  signal: AbortSignal,
  onCreated = noteEndpointCreated,
): Promise<string> {
  const { install, source, view } = look;
  await beginCreatingEndpoint(ctx, install, now(ctx));
  for (const endpointId of replaces) {
    await hold.renew();
    await remove(ctx, look, endpointId, signal);
  }
  await hold.renew();
  const wanted = { url: view.url, eventTypes: types };
  const { endpoint, secret } = await source.createEndpoint(wanted, signal).catch(async (thrown: unknown) => {
    const error = toAppError(thrown);
    // If endpoints were deleted for it, the next check must still make one.
    const isRefused = (error.status ?? 500) < 500 && replaces.length === 0;
    if (isRefused) await giveUpCreatingEndpoint(ctx, install, view.creatingSince);
    const others = view.listed.filter(({ id }) => !replaces.includes(id));
    throw error.code === 'conflict' && others.length > 0 ? toTooMany(error, others) : error;
  });
  await saveEndpoint(ctx, { install, endpointId: endpoint.id, secret, storedAt: now(ctx) });
  await onCreated(ctx, install);
  await requestRead(ctx, install);
  return endpoint.id;
}

/** None but our own is ever deleted, so the operator has to know which there are. */
function toTooMany(error: AppError, others: readonly Endpoint[]): AppError {
  const { message, status } = error;
  const there = others.map(({ id, url }) => `${id} to ${toShownHost(url)}`).join(', ');
  return new AppError('conflict', `${message}. Existing endpoints: ${there}`, {
    cause: error,
    ...(status && { status }),
  });
}

async function adopt(ctx: Context, install: string, endpointId: string): Promise<void> {
  await saveEndpoint(ctx, { install, endpointId, secret: null, storedAt: now(ctx) });
  await noteEndpointAdopted(ctx, install);
}

/** Noted before the call, or a process that dies each time would enable it for ever. */
async function enable(ctx: Context, look: Look, endpointId: string, signal: AbortSignal): Promise<void> {
  const { install, source } = look;
  await noteEndpointEnabled(ctx, install, now(ctx));
  await update(look, endpointId, { status: 'ACTIVE' }, signal);
  await requestRead(ctx, install);
  raiseDisabled(ctx, look, endpointId, 'Gangway enabled it again, and requested missed deliveries');
  await source.redeliver?.(endpointId, undefined, signal);
}

/** Counts as enabling. Both secrets are accepted until the watch deletes the first one. */
async function renew(ctx: Context, look: Look, hold: Hold, endpointId: string, signal: AbortSignal): Promise<string> {
  await noteEndpointEnabled(ctx, look.install, now(ctx));
  const made = await createBeside(ctx, look, hold, { replaced: [endpointId] }, signal, noteEndpointRenewed);
  raiseDisabled(ctx, look, endpointId, 'Another endpoint replaces it, and Gangway reads the install');
  return made.endpointId;
}

/** Makes an endpoint beside the others. Where there may be no more (409), the replaced ones are deleted first. */
export async function createBeside(
  ctx: Context,
  look: Look,
  hold: Hold,
  { replaced, eventTypes }: { replaced: readonly string[]; eventTypes?: readonly string[] },
  signal: AbortSignal,
  onCreated = noteEndpointCreated,
): Promise<{ endpointId: string; hadGap: boolean }> {
  try {
    const beside = { replaces: [], ...(eventTypes && { eventTypes }) };
    return { endpointId: await create(ctx, look, hold, beside, signal, onCreated), hadGap: false };
  } catch (error) {
    if (toAppError(error).code !== 'conflict') throw error;
    return { endpointId: await create(ctx, look, hold, { replaces: replaced }, signal, onCreated), hadGap: true };
  }
}

function raiseDisabled({ alerts }: Context, { install, view }: Look, endpointId: string, what: string): void {
  const { status, disabledReason } = view.listed.find(({ id }) => id === endpointId) ?? {};
  if (status !== 'DISABLED') return;
  alerts.raise(
    'endpoint_disabled',
    { install, endpointId, reason: maskText(disabledReason ?? '') },
    `The marketplace disabled a webhook endpoint. ${what}`,
  );
}

/** The marketplace discards what it had still to deliver. */
async function remove(ctx: Context, { install, source }: Look, endpointId: string, signal: AbortSignal): Promise<void> {
  try {
    await source.deleteEndpoint(endpointId, signal);
  } catch (error) {
    if (toAppError(error).code !== 'not_found') throw error;
  }
  await removeEndpoint(ctx, install, endpointId);
  await requestRead(ctx, install);
}

async function requestRead(ctx: Context, install: string): Promise<void> {
  await inTransaction(ctx.database, (tx) => wantInstallRead(tx, [install], now(ctx)));
}

function now({ clock }: Context): string {
  return toInstant(clock.now());
}
