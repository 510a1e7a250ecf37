import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { type Hold, withLock } from '../db/lock.ts';
import { AppError } from '../domain/errors.ts';
import type { Endpoint } from '../marketplace/source-records.ts';
import { applySteps, createBeside } from './apply-steps.ts';
import {
  create,
  type SortedEndpoints,
  type SubscriptionStep,
  type SubscriptionView,
  sortEndpoints,
  tidy,
  overlapMs as usualOverlapMs,
} from './decide-subscription.ts';
import { lookAtSubscription } from './look-at-subscription.ts';
import { noteSubscriptionCheck } from './subscription-store.ts';
import { toShownUrl } from './troubles.ts';

export interface Ensured {
  endpointId: string;
  /**
   * `created`: there was none. `adopted`: it was made by hand, with a secret of the configuration.
   * `replaced`: the secret of the old one was unknown. `moved`: it delivered to another address.
   * `kept`: it was in order, or is now.
   */
  how: EnsuredHow;
}

interface EnsureOptions {
  /** Whether an endpoint that delivers to another address may be changed to deliver here. */
  mayMove: boolean;
  signal: AbortSignal;
}

const patienceMs = 30_000;
/** Longer than any call to the marketplace takes with its retries. */
const leaseMs = 120_000;

/**
 * Makes sure that an endpoint with a known secret delivers to this install: it creates, adopts,
 * replaces, moves or keeps one. When it resolves, the secret is stored encrypted, every instance
 * accepts it within a second or two, and a read of the whole install is requested. It may be repeated
 * at any time, also after a failure: it looks first for what is half done, and the watch finishes it
 * too. The install must be in `ctx.sources`.
 *
 * @throws AppError `invalid` without `receiver.publicUrl`; `conflict` if an endpoint delivers to
 * another address and may not be moved, or if there are too many endpoints; `unavailable` if another
 * process holds the subscription for more than half a minute, or the marketplace does not answer;
 * `unauthenticated` and `forbidden` if it refuses the token
 */
export async function ensureEndpoint(
  ctx: Context,
  install: string,
  { mayMove, signal }: EnsureOptions,
): Promise<Ensured> {
  return await whileHeld(ctx, install, signal, async (hold) => {
    const look = await lookAtSubscription(ctx, install, signal);
    const { how, endpointId, steps } = decideEnsured(install, look.view, mayMove);
    const created = await applySteps({ ...look, hold, signal }, steps);
    await noteSubscriptionCheck(ctx, install, look.view.now, null);
    return { endpointId: endpointId ?? created ?? '', how };
  });
}

/** The watch and the commands take it. */
export function subscriptionLock(install: string) {
  return { name: `subscription:${install}`, what: `The webhook endpoint of ${install}`, leaseMs };
}

/** Waits until the subscription is free, and holds it during the work. @throws AppError `unavailable` if it waits too long */
async function whileHeld<T>(
  ctx: Context,
  install: string,
  signal: AbortSignal,
  work: (hold: Hold) => Promise<T>,
): Promise<T> {
  // In an object, so that a result of null is not taken for "not held".
  const boxed = await withLock(ctx, { ...subscriptionLock(install), patienceMs, signal }, async (hold) => ({
    result: await work(hold),
  }));
  if (boxed !== null) return boxed.result;
  const message = `Another process is changing the webhook endpoint of ${install}. Try again in a while`;
  throw new AppError('unavailable', message);
}

type EnsuredHow = 'created' | 'adopted' | 'replaced' | 'moved' | 'kept';

interface EnsureDecision {
  how: EnsuredHow;
  /** The endpoint that will deliver; null if it is yet to be made. */
  endpointId: string | null;
  steps: SubscriptionStep[];
}

/**
 * The steps until an endpoint with a known secret delivers here. An operator asks for it with
 * `gangway connect`, so it may do more than the watch.
 *
 * @param mayMove whether an endpoint that delivers to another address may be changed to deliver here
 * @throws AppError `conflict` if only that would help and it is not allowed
 */
export function decideEnsured(install: string, view: SubscriptionView, mayMove: boolean): EnsureDecision {
  const sorted = sortEndpoints(view);
  const { usable, strangers, gone } = sorted;
  const [current] = usable;
  if (current !== undefined) return keep(view, sorted, current);
  const [newest, ...others] = strangers;
  if (newest !== undefined && view.hasConfiguredSecrets && view.creatingSince === null) {
    const kept = keep(view, { ...sorted, strangers: others }, newest);
    const adopted = { kind: 'adopt' as const, endpointId: newest.id };
    return { ...kept, how: 'adopted', steps: [adopted, ...kept.steps] };
  }
  if (newest !== undefined) {
    return { how: 'replaced', endpointId: null, steps: create(strangers, gone) };
  }
  const distant = findDistant(view, sorted, mayMove);
  if (distant === undefined) {
    return { how: 'created', endpointId: null, steps: create([], gone) };
  }
  if (!mayMove) throw refuseToMove(install, distant);
  return move(view, sorted, distant);
}

function keep(view: SubscriptionView, sorted: SortedEndpoints, current: Endpoint): EnsureDecision {
  const steps = tidy(view, sorted, current, current.status === 'DISABLED');
  if (steps.some(({ kind }) => kind === 'renew')) return { how: 'replaced', endpointId: null, steps };
  return { how: 'kept', endpointId: current.id, steps };
}

/**
 * One of ours that delivers to another address; if none is known as ours, the only one of the install. One that cannot
 * be changed would be deleted instead, and may be in use: it is the account's.
 */
function findDistant(
  { listed, stored, isChangeable }: SubscriptionView,
  { elsewhere: [moved] }: SortedEndpoints,
  mayMove: boolean,
): Endpoint | undefined {
  if (moved !== undefined) return moved;
  const isOnlyOne = stored.length === 0 && listed.length === 1;
  return mayMove && isOnlyOne && isChangeable ? listed[0] : undefined;
}

function move(view: SubscriptionView, sorted: SortedEndpoints, distant: Endpoint): EnsureDecision {
  const known = view.stored.find(({ endpointId }) => endpointId === distant.id);
  const isSecretKnown = known?.hasSecret === true || view.hasConfiguredSecrets;
  if (!isSecretKnown || !view.isChangeable) {
    return { how: 'replaced', endpointId: null, steps: create([distant], sorted.gone) };
  }
  const { endpointId, steps } = keep(view, sorted, distant);
  const adopted: SubscriptionStep[] = known === undefined ? [{ kind: 'adopt', endpointId: distant.id }] : [];
  const moved = { kind: 'move' as const, endpointId: distant.id };
  return { how: 'moved', endpointId, steps: [moved, ...adopted, ...steps] };
}

function refuseToMove(install: string, { id, url }: Endpoint): AppError {
  return new AppError(
    'conflict',
    `Webhook endpoint ${id} of ${install} delivers to ${toShownUrl(url)}. To have it deliver here, run "gangway connect ${install} --move"`,
  );
}

interface RotateOptions {
  signal: AbortSignal;
  /** How long both endpoints exist side by side. */
  overlapMs?: number;
}

/**
 * Replaces the endpoint of an install, and with it the secret. It makes a second endpoint, lets both deliver until the
 * first has finished, and then deletes the first. If it stops at any point, the watch finishes it.
 *
 * @returns the new endpoint and those that it replaces; `hadGap`: no second endpoint was possible, so that for a moment
 *   there was none; `hasConfiguredSecrets`: those of the configuration sign nothing any more
 * @throws AppError as `ensureEndpoint`, and `not_found` if no endpoint delivers here
 */
export async function rotateEndpoint(
  ctx: Context,
  install: string,
  { signal, overlapMs = usualOverlapMs }: RotateOptions,
) {
  return await whileHeld(ctx, install, signal, async (hold) => {
    const look = { ...(await lookAtSubscription(ctx, install, signal)), hold, signal };
    const { view } = look;
    const { usable, strangers } = sortEndpoints(view);
    const replaced = [...usable, ...strangers].map(({ id }) => id);
    if (replaced.length === 0) throw nothingThere(install, view.url);
    // While the second one is made, another process changes no stored endpoint, so all must be stored.
    const isAdoptable = view.hasConfiguredSecrets && view.creatingSince === null;
    const adopted = (isAdoptable ? strangers : []).map(({ id }) => ({ kind: 'adopt' as const, endpointId: id }));
    await applySteps(look, adopted);
    const made = await createBeside(look, replaced);
    if (!made.hadGap) {
      await waitOverlap(overlapMs, signal);
      await applySteps(
        look,
        replaced.map((endpointId): SubscriptionStep => ({ kind: 'delete', endpointId })),
      );
    }
    await noteSubscriptionCheck(ctx, install, view.now, null);
    return { ...made, replaced, hasConfiguredSecrets: view.hasConfiguredSecrets };
  });
}

async function waitOverlap(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await wait(ms, undefined, { signal });
  } catch (cause) {
    const message =
      'Stopped while both endpoints deliver. A running "gangway start" deletes the old one, or run this again';
    throw new AppError('unavailable', message, { cause });
  }
}

function nothingThere(install: string, url: string): AppError {
  return new AppError(
    'not_found',
    `No webhook endpoint of ${install} delivers to ${url}. Run "gangway connect ${install}" to create one`,
  );
}
