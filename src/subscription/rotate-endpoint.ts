import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { AppError } from '../domain/errors.ts';
import { applySteps, createBeside } from './apply-steps.ts';
import { type SubscriptionStep, overlapMs as usualOverlapMs } from './decide-subscription.ts';
import { whileHeld } from './ensure-endpoint.ts';
import { lookAtSubscription } from './look-at-subscription.ts';
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
  /** How long both endpoints exist side by side. */
  overlapMs?: number;
}

/**
 * Replaces the endpoint of an install, and with it the secret. It makes a second endpoint, lets both deliver until the
 * first has finished, and then deletes the first. If it stops at any point, the watch finishes it.
 *
 * @throws AppError as `ensureEndpoint`, and `not_found` if no endpoint delivers here
 */
export async function rotateEndpoint(
  ctx: Context,
  install: string,
  { signal, overlapMs = usualOverlapMs }: RotateOptions,
): Promise<RotatedEndpoint> {
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
