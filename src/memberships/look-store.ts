import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { Tables } from '../db/schema.ts';
import type { PendingDerivation } from './derivation-store.ts';
import { addressOf, endGivenAddresses } from './identity-store.ts';
import { isWorkable } from './membership-store.ts';

// The SQL of requesting looks at memberships, and of what a list of a tool has shown.

type MembershipBuilder = ExpressionBuilder<Tables, 'membership'>;

/** The states in which wanted and found agree. */
const settledStates = ['active', 'invited', 'removed'] as const;

/** Now if the membership is workable: any other is never claimed, and would stay due for ever. */
export function dueIfWorkable(eb: MembershipBuilder, now: string) {
  return eb.case().when(isWorkable(eb)).then(now).else(eb.ref('nextAttemptAt')).end();
}

/** A membership, and whether a look can be requested. */
export async function findMembership(db: Transaction, id: number) {
  const found = await db
    .selectFrom('membership')
    .selectAll()
    .select((eb) => eb.case().when(isWorkable(eb)).then(eb.lit(1)).else(eb.lit(0)).end().as('workable'))
    .where('id', '=', id)
    .executeTakeFirst();
  return found && { ...found, isWorkable: found.workable === 1 };
}

/** Makes a look at these memberships due, as far as they are workable. */
export async function lookAtMemberships(tx: Transaction, membershipIds: number[], now: string): Promise<void> {
  // `updatedAt` stays, so that a membership which waits for a read of its install goes on waiting.
  await tx
    .updateTable('membership')
    .set((eb) => ({ nextAttemptAt: dueIfWorkable(eb, now) }))
    .where('id', 'in', membershipIds)
    .execute();
}

/**
 * Records that a list shows the accounts of these members under an address that was never theirs. A look decides whose
 * they are. If it misses the account, only this record keeps its id, by which the member could stay in.
 */
export async function doubtAccounts(tx: Transaction, membershipIds: number[]): Promise<void> {
  await tx
    .updateTable('membership')
    .set((eb) => ({ doubtedId: eb.ref('memberId') }))
    .where('id', 'in', membershipIds)
    .where('isOurs', '=', true)
    .where('doubtedId', 'is', null)
    .execute();
}

/** Resumes the removal of members whom a list shows though they were removed. Its looks begin again. */
export async function resumeRemovals(tx: Transaction, membershipIds: number[], now: string): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ state: 'removing', missedAt: null, nextAttemptAt: now, unmetSince: now })
    .where('id', 'in', membershipIds)
    .where('wanted', '=', false)
    .where('state', '=', 'removed')
    // The brake has cleared the removal that was done.
    .whereRef('clearedGeneration', '=', 'generation')
    .execute();
}

/** Makes a look due at every member of these tools. */
export async function lookInTools(tx: Transaction, tools: readonly string[], now: string): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ lookAgain: true, nextAttemptAt: now })
    .where('tool', 'in', tools)
    .where('wanted', '=', true)
    .where('state', 'in', ['active', 'invited'])
    .execute();
}

/**
 * After a backup was restored, trainers who wait to be added may be in by a call that the database has lost. So a
 * removal looks for them too.
 */
export async function expectForgottenCalls(tx: Transaction, now: string): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ lateUntil: now })
    .where('wanted', '=', true)
    .where('state', 'in', ['pending', 'failed'])
    .where('lateUntil', 'is', null)
    .execute();
}

/**
 * Does the same for trainers whose end was derived after `aliveAt`, before the restore was noticed, as if they had
 * never been added.
 *
 * @returns the trainers to derive again
 */
export async function reopenUntouched(tx: Transaction, aliveAt: string, now: string): Promise<PendingDerivation[]> {
  // `updatedAt` stays, so that they wait until their install is read.
  return await tx
    .updateTable('membership')
    .set({ state: 'removing', lateUntil: now })
    .where('state', '=', 'removed')
    .where('isOurs', '=', false)
    .where('memberId', 'is', null)
    .where('updatedAt', '>=', aliveAt)
    // Without an address nobody can be looked for.
    .where((eb) => eb.exists(addressOf(eb).where('isCurrent', '=', true)))
    .returning(['install', 'trainerId'])
    .execute();
}

/** Makes a look due for one member, unless something else is due already. */
export async function lookAtSettled(tx: Transaction, membershipId: number, now: string): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ nextAttemptAt: now })
    .where('id', '=', membershipId)
    .where('wanted', '=', true)
    .where('state', 'in', ['active', 'invited'])
    .where('nextAttemptAt', 'is', null)
    .execute();
}

/** Records that nothing is left to confirm. Removed members are no longer ours. */
export async function noteConfirmed(tx: Transaction, membershipIds: number[], now: string): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ lateUntil: null, missedAt: null })
    .where('id', 'in', membershipIds)
    .execute();
  const gone = await tx
    .updateTable('membership')
    .set({ isOurs: false })
    .where('id', 'in', membershipIds)
    .where('state', '=', 'removed')
    .where('memberId', 'is not', null)
    // Until the shared link is reset, a removed member may use it to come in again.
    .where((eb) => eb.not(isResetDue(eb)))
    .returning('id')
    .execute();
  for (const { id } of gone) await endGivenAddresses(tx, id, now);
}

/** Whether the shared link of the group still has to be reset. */
export function isResetDue(eb: MembershipBuilder): Expression<SqlBool> {
  return eb.exists(
    eb
      .selectFrom('linkReset')
      .select('linkReset.tool')
      .whereRef('linkReset.tool', '=', 'membership.tool')
      .whereRef('linkReset.groupId', '=', 'membership.groupId')
      .where('linkReset.nextAttemptAt', 'is not', null),
  );
}

/** Memberships that need one more look, after every call for them has had its effect. */
export async function findUnconfirmed(db: Transaction, install: string, now: string) {
  return await db
    .selectFrom('membership')
    .select(['id', 'tool', 'groupId'])
    .where('install', '=', install)
    .where((eb) => eb.or([eb('lateUntil', 'is not', null), eb('missedAt', 'is not', null)]))
    .where((eb) => eb.or([eb('lateUntil', 'is', null), eb('lateUntil', '<=', now)]))
    .where('state', 'in', settledStates)
    .where('leaseToken', 'is', null)
    .execute();
}

/** Makes the look due that confirms these memberships. */
export async function lookToConfirm(tx: Transaction, membershipIds: number[], now: string): Promise<void> {
  await tx
    .updateTable('membership')
    .set((eb) => ({ lateUntil: null, missedAt: null, nextAttemptAt: dueIfWorkable(eb, now) }))
    .where('id', 'in', membershipIds)
    .where('leaseToken', 'is', null)
    .where('state', 'in', settledStates)
    .execute();
}

export interface RepeatedRemoval {
  membershipId: number;
  /** The account that was found, and the only one that may be removed. */
  memberId: string;
  removeAfter: string;
}

/**
 * Makes the removal due, subject to the brake.
 *
 * @returns the generation of the removal; undefined if the membership has changed meanwhile
 */
export async function removeAgain(
  tx: Transaction,
  { membershipId, memberId, removeAfter }: RepeatedRemoval,
  now: string,
): Promise<number | undefined> {
  const found = await tx
    .updateTable('membership')
    .set((eb) => ({
      state: 'removing',
      cause: 'found_again',
      removeAfter,
      unmetSince: removeAfter,
      memberId,
      isOurs: true,
      attempts: 0,
      failure: null,
      nextAttemptAt: null,
      updatedAt: now,
      generation: eb('generation', '+', 1),
    }))
    .where('id', '=', membershipId)
    .where('wanted', '=', false)
    .where('state', '=', 'removed')
    .returning('generation')
    .executeTakeFirst();
  return found?.generation;
}

/** A membership, and the account by which its trainer is in now. */
export interface ArrivedMember {
  membershipId: number;
  tool: string;
  trainerId: string;
  memberId: string | null;
  accountId: string;
}

/** Changes nothing if the membership has another account by now, or if another trainer has this one. */
export async function noteArrival(
  tx: Transaction,
  { membershipId, tool, trainerId, memberId, accountId }: ArrivedMember,
  now: string,
): Promise<void> {
  await tx
    .updateTable('membership')
    .set((eb) => ({
      memberId: accountId,
      nextAttemptAt: eb
        .case()
        .when(eb.and([eb('wanted', '=', true), eb('state', '=', 'invited')]))
        .then(now)
        .else(eb.ref('nextAttemptAt'))
        .end(),
    }))
    .where('id', '=', membershipId)
    .where((eb) => (memberId === null ? eb('memberId', 'is', null) : eb('memberId', '=', memberId)))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('membership as other')
            .select('other.id')
            .where('other.tool', '=', tool)
            .where('other.memberId', '=', accountId)
            .where('other.trainerId', '<>', trainerId),
        ),
      ),
    )
    .execute();
}
