import type { Row } from '../db/schema.ts';
import { AppError } from '../domain/errors.ts';
import { mayBeRunning } from './retention.ts';
import type { PersonContract } from './retention-store.ts';

/** All that is known of one person, by install. */
export interface PersonOnRecord {
  trainerId: string;
  /** Every install that ever named the trainer. */
  installs: readonly string[];
  /** Installs that have already forgotten the trainer. */
  forgottenBy: ReadonlySet<string>;
  contracts: readonly PersonContract[];
  memberships: readonly Row<'membership'>[];
  /** The reasons of the trainer's memberships, with the install of each. */
  reasons: readonly { membershipId: number; install: string }[];
}

export interface ForgetPlan {
  /** Installs that need nothing of the trainer any more. */
  cleared: string[];
  neededBy: Need[];
  /** Memberships that no install needs, and that no remaining install was a reason for. */
  membershipIds: number[];
  keptMembershipIds: number[];
}

/** An install that still needs to know the trainer, and what for. */
export interface Need {
  install: string;
  reason: string;
}

/**
 * Pure: what may be forgotten of a person. Each install is judged by itself: what one customer needs does not keep
 * others from forgetting.
 *
 * @param only the only install that is to forget; undefined for all
 * @throws AppError `not_found`, or `conflict` where no install can forget the trainer yet
 */
export function planForget(known: PersonOnRecord, only?: string): ForgetPlan {
  const { trainerId, installs, forgottenBy, memberships } = known;
  const asked = installs.filter((install) => only === undefined || install === only);
  if (only !== undefined && asked.length === 0) {
    throw new AppError('not_found', `${only} knows nothing of the trainer ${trainerId}`);
  }
  const needs = installs.flatMap((install) => needOf(known, install) ?? []);
  const needed = new Set(needs.map(({ install }) => install));
  const cleared = asked.filter((install) => !needed.has(install));
  if (cleared.length === 0 && needs.length > 0) throw toRefusal(known, needs, only);
  const gone = new Set([...cleared, ...[...forgottenBy].filter((one) => !needed.has(one))]);
  const isGone = (row: Row<'membership'>) => !isHeld(row) && ownersOf(known, row).every((install) => gone.has(install));
  return {
    cleared,
    neededBy: needs.filter(({ install }) => asked.includes(install)),
    membershipIds: memberships.filter(isGone).map(({ id }) => id),
    keptMembershipIds: memberships.filter((row) => !isGone(row)).map(({ id }) => id),
  };
}

function needOf({ contracts, memberships }: PersonOnRecord, install: string): Need | null {
  const running = contracts.find((one) => one.install === install && mayBeRunning(one));
  if (running !== undefined) {
    return { install, reason: `they have an active contract there (${running.contractId})` };
  }
  const held = memberships.find((row) => row.install === install && isHeld(row));
  if (held === undefined) return null;
  const { groupId, tool, state } = held;
  return { install, reason: `they may still be in ${groupId} of ${tool} (${state})` };
}

function isHeld({ wanted, state }: Row<'membership'>): boolean {
  return wanted || (state !== 'removed' && state !== 'released');
}

function ownersOf({ reasons }: PersonOnRecord, { id, install }: Row<'membership'>): string[] {
  return [install, ...reasons.filter(({ membershipId }) => membershipId === id).map((reason) => reason.install)];
}

function toRefusal({ trainerId }: PersonOnRecord, needs: Need[], only?: string): AppError {
  const said = needs
    .filter(({ install }) => only === undefined || install === only)
    .map(({ install, reason }) => `install ${install}: ${reason}`);
  return new AppError(
    'conflict',
    `The trainer ${trainerId} is still needed (${said.join('; ')}): end the contract first, and try again when "gangway members" shows them as removed`,
  );
}
