import { inTransaction } from '../../db/database.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import { toInstant } from '../../lib/clock.ts';
import { maskText } from '../../lib/mask.ts';
import { wantRead as wantInstallRead } from '../../reconcile/read/install-state-store.ts';
import type { Endpoint, EndpointChanges } from '../../sources/endpoint.ts';
import { removeEndpoint, saveEndpoint } from '../endpoint-store.ts';
import type { StepAbout, SubscriptionStep } from './decide-subscription.ts';
import type { SubscriptionHold } from './hold-subscription.ts';
import type { Look, SubscriptionDeps } from './look-at-subscription.ts';
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
  deps: SubscriptionDeps,
  look: Look,
  hold: SubscriptionHold,
  steps: readonly SubscriptionStep[],
  signal: AbortSignal,
): Promise<string | null> {
  let created: string | null = null;
  for (const step of steps) {
    await hold.renew();
    if (step.kind === 'create') created = await create(deps, look, hold, step, signal);
    else if (step.kind === 'renew') created = await renew(deps, look, hold, step.endpointId, signal);
    else if (step.kind === 'settle') await giveUpCreatingEndpoint(deps, look.install, null);
    else await changeEndpoint(deps, look, step, signal);
    deps.logger.info({ install: look.install, ...step }, 'A webhook endpoint was changed');
  }
  return created;
}

async function changeEndpoint(deps: SubscriptionDeps, look: Look, step: StepAbout, signal: AbortSignal): Promise<void> {
  const { install } = look;
  const { endpointId } = step;
  switch (step.kind) {
    case 'adopt':
      return await adopt(deps, install, endpointId);
    case 'move':
      return await change(deps, look, endpointId, { url: look.view.url }, signal);
    case 'subscribe':
      return await change(deps, look, endpointId, { eventTypes: step.eventTypes }, signal);
    case 'enable':
      return await enable(deps, look, endpointId, signal);
    case 'delete':
      return await remove(deps, look, endpointId, signal);
    case 'forget':
      return await removeEndpoint(deps, install, endpointId);
  }
}

async function change(
  deps: SubscriptionDeps,
  look: Look,
  endpointId: string,
  changes: EndpointChanges,
  signal: AbortSignal,
): Promise<void> {
  await update(look, endpointId, changes, signal);
  await requestRead(deps, look.install);
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
  deps: SubscriptionDeps,
  look: Look,
  hold: SubscriptionHold,
  { replaces, eventTypes: types = look.view.eventTypes }: Omit<Extract<SubscriptionStep, { kind: 'create' }>, 'kind'>,
  signal: AbortSignal,
  onCreated = noteEndpointCreated,
): Promise<string> {
  const { install, source, view } = look;
  await beginCreatingEndpoint(deps, install, now(deps));
  for (const endpointId of replaces) {
    await hold.renew();
    await remove(deps, look, endpointId, signal);
  }
  await hold.renew();
  const wanted = { url: view.url, eventTypes: types };
  const { endpoint, secret } = await source.createEndpoint(wanted, signal).catch(async (thrown: unknown) => {
    const error = toAppError(thrown);
    // If endpoints were deleted for it, the next check must still make one.
    const isRefused = (error.status ?? 500) < 500 && replaces.length === 0;
    if (isRefused) await giveUpCreatingEndpoint(deps, install, view.creatingSince);
    const others = view.listed.filter(({ id }) => !replaces.includes(id));
    throw error.code === 'conflict' && others.length > 0 ? toTooMany(error, others) : error;
  });
  await saveEndpoint(deps, { install, endpointId: endpoint.id, secret, storedAt: now(deps) });
  await onCreated(deps, install);
  await requestRead(deps, install);
  return endpoint.id;
}

/** None but our own is ever deleted, so the operator has to know which there are. */
function toTooMany(error: AppError, others: readonly Endpoint[]): AppError {
  const { message, status } = error;
  const there = others.map(({ id, url }) => `${id} to ${toShownHost(url)}`).join(', ');
  return new AppError('conflict', `${message}. There is: ${there}`, { cause: error, ...(status && { status }) });
}

async function adopt(deps: SubscriptionDeps, install: string, endpointId: string): Promise<void> {
  await saveEndpoint(deps, { install, endpointId, secret: null, storedAt: now(deps) });
  await noteEndpointAdopted(deps, install);
}

/** Noted before the call, or a process that dies each time would enable it for ever. */
async function enable(deps: SubscriptionDeps, look: Look, endpointId: string, signal: AbortSignal): Promise<void> {
  const { install, source } = look;
  await noteEndpointEnabled(deps, install, now(deps));
  await update(look, endpointId, { status: 'ACTIVE' }, signal);
  await requestRead(deps, install);
  raiseDisabled(deps, look, endpointId, 'it is enabled again, and missed deliveries are requested');
  await source.redeliver?.(endpointId, undefined, signal);
}

/** Counts as enabling. Both secrets are accepted until the watch deletes the first one. */
async function renew(
  deps: SubscriptionDeps,
  look: Look,
  hold: SubscriptionHold,
  endpointId: string,
  signal: AbortSignal,
): Promise<string> {
  await noteEndpointEnabled(deps, look.install, now(deps));
  const made = await createBeside(deps, look, hold, { replaced: [endpointId] }, signal, noteEndpointRenewed);
  raiseDisabled(deps, look, endpointId, 'another one takes over from it, and the install is read');
  return made.endpointId;
}

/** Makes an endpoint beside the others. Where there may be no more (409), the replaced ones are deleted first. */
export async function createBeside(
  deps: SubscriptionDeps,
  look: Look,
  hold: SubscriptionHold,
  { replaced, eventTypes }: { replaced: readonly string[]; eventTypes?: readonly string[] },
  signal: AbortSignal,
  onCreated = noteEndpointCreated,
): Promise<{ endpointId: string; hadGap: boolean }> {
  try {
    const beside = { replaces: [], ...(eventTypes && { eventTypes }) };
    return { endpointId: await create(deps, look, hold, beside, signal, onCreated), hadGap: false };
  } catch (error) {
    if (toAppError(error).code !== 'conflict') throw error;
    return { endpointId: await create(deps, look, hold, { replaces: replaced }, signal, onCreated), hadGap: true };
  }
}

function raiseDisabled({ alerts }: SubscriptionDeps, { install, view }: Look, endpointId: string, what: string): void {
  const { status, disabledReason } = view.listed.find(({ id }) => id === endpointId) ?? {};
  if (status !== 'DISABLED') return;
  alerts.raise(
    'endpoint_disabled',
    { install, endpointId, reason: maskText(disabledReason ?? '') },
    `The marketplace had disabled a webhook endpoint: ${what}`,
  );
}

/** The marketplace discards what it had still to deliver. */
async function remove(
  deps: SubscriptionDeps,
  { install, source }: Look,
  endpointId: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await source.deleteEndpoint(endpointId, signal);
  } catch (error) {
    if (toAppError(error).code !== 'not_found') throw error;
  }
  await removeEndpoint(deps, install, endpointId);
  await requestRead(deps, install);
}

async function requestRead(deps: SubscriptionDeps, install: string): Promise<void> {
  await inTransaction(deps.database, (tx) => wantInstallRead(tx, [install], now(deps)));
}

function now({ clock }: SubscriptionDeps): string {
  return toInstant(clock.now());
}
