import { AppError } from '../../domain/errors.ts';
import { applySteps } from './apply-steps.ts';
import { decideEnsured, type EnsuredHow } from './decide-ensured.ts';
import { holdSubscription, type SubscriptionHold } from './hold-subscription.ts';
import { lookAtSubscription, type SubscriptionDeps } from './look-at-subscription.ts';

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

/**
 * Makes sure that an endpoint with a known secret delivers to this install: it creates, adopts,
 * replaces, moves or keeps one. When it resolves, the secret is stored encrypted, every instance
 * accepts it within a second or two, and a read of the whole install is requested. It may be repeated
 * at any time, also after a failure: it looks first for what is half done, and the watch finishes it
 * too. The install must be in `deps.sources`.
 *
 * @throws AppError `invalid` without `receiver.publicUrl`; `conflict` if an endpoint delivers to
 * another address and may not be moved, or if there are too many endpoints; `unavailable` if another
 * process holds the subscription for more than half a minute, or the marketplace does not answer;
 * `unauthenticated` and `forbidden` if it refuses the token
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

/** Waits until the subscription is free, and holds it during the work. @throws AppError `unavailable` if it waits too long */
export async function whileHeld<T>(
  deps: SubscriptionDeps,
  install: string,
  signal: AbortSignal,
  work: (hold: SubscriptionHold) => Promise<T>,
): Promise<T> {
  // In an object, so that a result of null is not taken for "not held".
  const boxed = await holdSubscription(deps, install, { patienceMs, signal }, async (hold) => ({
    result: await work(hold),
  }));
  if (boxed !== null) return boxed.result;
  const message = `Another process looks after the webhook endpoint of ${install}: try again in a while`;
  throw new AppError('unavailable', message);
}
