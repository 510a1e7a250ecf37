import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import type { Hold } from '../../db/with-lock.ts';
import { AppError } from '../../domain/errors.ts';
import { applySteps, createBeside } from './apply-steps.ts';
import { type SubscriptionStep, overlapMs as usualOverlapMs } from './decide-subscription.ts';
import { whileHeld } from './ensure-endpoint.ts';
import { type Look, lookAtSubscription } from './look-at-subscription.ts';
import { sortEndpoints } from './sort-endpoints.ts';
import { noteSubscriptionCheck } from './subscription-store.ts';

export interface RotatedEndpoint {
  endpointId: string;
  /** The endpoints that it replaces. */
  replaced: string[];
  /** Whether no second endpoint was possible, so that for a moment there was none. */
  hadGap: boolean;
  /** Whether the configuration has secrets for the install. They sign nothing any more. */
  hasConfiguredSecrets: boolean;
}

interface RotateOptions {
  signal: AbortSignal;
  /** Both endpoints exist side by side for twice this long. */
  overlapMs?: number;
}

/** Very rare events, so that no delivery is refused by an instance that does not know the secret yet. */
const quietTypes = ['install.revoked'] as const;

/**
 * Replaces the endpoint of an install, and with it the secret. It makes a second endpoint that is
 * quiet until every instance knows its secret, then lets both deliver until the first has finished,
 * and then deletes the first. If it stops at any point, the watch finishes it.
 *
 * @throws AppError as `ensureEndpoint`, and `not_found` if no endpoint delivers here
 */
export async function rotateEndpoint(
  ctx: Context,
  install: string,
  { signal, overlapMs = usualOverlapMs }: RotateOptions,
): Promise<RotatedEndpoint> {
  return await whileHeld(ctx, install, signal, async (hold) => {
    const look = await lookAtSubscription(ctx, install, signal);
    const { usable, strangers } = sortEndpoints(look.view);
    const replaced = [...usable, ...strangers].map(({ id }) => id);
    if (replaced.length === 0) throw nothingThere(install, look.view.url);
    const made = await makeSecond(ctx, look, hold, replaced, signal);
    if (!made.hadGap) {
      await waitOverlap(overlapMs, signal);
      await subscribe(ctx, look, hold, made.endpointId, signal);
      await waitOverlap(overlapMs, signal);
      await applySteps(ctx, look, hold, replaced.map(toDeleted), signal);
    }
    await noteSubscriptionCheck(ctx, install, look.view.now, null);
    return { ...made, replaced, hasConfiguredSecrets: look.view.hasConfiguredSecrets };
  });
}

async function makeSecond(
  ctx: Context,
  look: Look,
  hold: Hold,
  replaced: string[],
  signal: AbortSignal,
): Promise<Pick<RotatedEndpoint, 'endpointId' | 'hadGap'>> {
  // While the second one is made, another process changes no stored endpoint, so all must be stored.
  await applySteps(ctx, look, hold, adoptable(look), signal);
  const eventTypes = look.view.isChangeable ? quietTypes : look.view.eventTypes;
  return await createBeside(ctx, look, hold, { replaced, eventTypes }, signal);
}

/** One that cannot be changed delivers everything from its beginning. */
async function subscribe(ctx: Context, look: Look, hold: Hold, endpointId: string, signal: AbortSignal): Promise<void> {
  const { isChangeable, eventTypes } = look.view;
  if (isChangeable) await applySteps(ctx, look, hold, [{ kind: 'subscribe', endpointId, eventTypes }], signal);
}

function toDeleted(endpointId: string): SubscriptionStep {
  return { kind: 'delete', endpointId };
}

function adoptable({ view }: Look): SubscriptionStep[] {
  if (!view.hasConfiguredSecrets || view.creatingSince !== null) return [];
  return sortEndpoints(view).strangers.map(({ id }) => ({ kind: 'adopt', endpointId: id }));
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
