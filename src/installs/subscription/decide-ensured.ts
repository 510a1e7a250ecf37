import { AppError } from '../../domain/errors.ts';
import type { Endpoint } from '../../sources/endpoint.ts';
import { create, type SubscriptionStep, tidy } from './decide-subscription.ts';
import { type SortedEndpoints, type SubscriptionView, sortEndpoints } from './sort-endpoints.ts';
import { toShownUrl } from './troubles.ts';

export type EnsuredHow = 'created' | 'adopted' | 'replaced' | 'moved' | 'kept';

export interface EnsureDecision {
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
    `The webhook endpoint ${id} of ${install} delivers to ${toShownUrl(url)}: "gangway connect ${install} --move" has it deliver here`,
  );
}
