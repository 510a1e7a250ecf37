import { AppError } from '../../domain/errors.ts';
import { applySteps } from './apply-steps.ts';
import { decideEnsured, type EnsuredHow } from './decide-ensured.ts';
import { holdSubscription, type SubscriptionHold } from './hold-subscription.ts';
import { lookAtSubscription, type SubscriptionDeps } from './look-at-subscription.ts';

export interface Ensured {
  endpointId: string;
  /**
   * `created`: there was none. `adopted`: one that was made by hand, with a secret of the
   * configuration. `replaced`: there was one whose secret nobody here knows. `moved`: it delivered
   * elsewhere. `kept`: it was in order, or is now.
   */
  how: EnsuredHow;
}

interface EnsureOptions {
  /** Whether one that delivers elsewhere may be had deliver here. */
  mayMove: boolean;
  signal: AbortSignal;
}

const patienceMs = 30_000;

/**
 * Has an endpoint at the marketplace deliver to this install whose secret is known here: looks what
 * there is, and then creates, adopts, replaces, moves or keeps one. Its secret is stored, sealed, when
 * this resolves, and every instance accepts it within a second or two; the install is then read whole.
 * Repeating it is harmless, also after a failure: whatever was left half done is looked for first, and
 * a watch that runs finishes it. The install must be in `deps.platformApis`.
 *
 * @throws AppError `invalid` without `receiver.publicUrl`; `conflict` where one delivers elsewhere
 * that may not be moved, or there are as many endpoints as may be; `unavailable` where another
 * process looks after it for longer than half a minute, or the marketplace does not answer;
 * `unauthenticated` and `forbidden` where it refuses the token
 */
export async function ensureEndpoint(
  deps: SubscriptionDeps,
  install: string,
  { mayMove, signal }: EnsureOptions,
): Promise<Ensured> {
  return await whileHeld(deps, install, signal, async (hold) => {
    const look = await lookAtSubscription(deps, install, signal);
    const { how, endpointId, steps } = decideEnsured(install, look.view, mayMove);
    const created = await applySteps(deps, look, hold, steps, signal);
    await deps.subscriptions.check(install, look.view.now, null);
    return { endpointId: endpointId ?? created ?? '', how };
  });
}

/** For a command, which waits its turn. @throws AppError `unavailable` where that does not come */
export async function whileHeld<T>(
  deps: SubscriptionDeps,
  install: string,
  signal: AbortSignal,
  work: (hold: SubscriptionHold) => Promise<T>,
): Promise<T> {
  // In a box, so that a result of null is no sign of anything.
  const boxed = await holdSubscription(deps, install, { patienceMs, signal }, async (hold) => ({
    result: await work(hold),
  }));
  if (boxed !== null) return boxed.result;
  const message = `Another process looks after the webhook endpoint of ${install}: try again in a while`;
  throw new AppError('unavailable', message);
}
