import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { Row, Tables } from '../db/schema.ts';
import { addressOf, endGivenAddresses } from './address-store.ts';
import type { PendingDerivation } from './derivation-store.ts';
import { isWorkable } from './membership-store.ts';

/** The SQL of having memberships looked at in their tool, and of what a list of it has shown. */

type MembershipBuilder = ExpressionBuilder<Tables, 'membership'>;

/** The states in which wanted and found agree. */
const settledStates = ['active', 'invited', 'removed'] as const;

/** Due now, if there is something to do. A membership that is never claimed would stay due for ever. */
export function dueIfWorkable(eb: MembershipBuilder, now: string) {
  return eb.case().when(isWorkable(eb)).then(now).else(eb.ref('nextAttemptAt')).end();
}

/** A membership, and whether a look at it can be made due. */
export async function findMembership(
  db: Transaction,
  id: number,
): Promise<(Row<'membership'> & { isWorkable: boolean }) | undefined> {
  const found = await db
    .selectFrom('membership')
    .selectAll()
    .select((eb) => eb.case().when(isWorkable(eb)).then(eb.lit(1)).else(eb.lit(0)).end().as('workable'))
    .where('id', '=', id)
    .executeTakeFirst();
  return found && { ...found, isWorkable: found.workable === 1 };
}

/** Makes a look at these memberships due, unless there is nothing to do for them. */
export async function lookAtMemberships(tx: Transaction, membershipIds: number[], now: string): Promise<void> {
  // `updatedAt` stays, so that a membership that waits for a read of its install still waits.
  await tx
    .updateTable('membership')
    .set((eb) => ({ nextAttemptAt: dueIfWorkable(eb, now) }))
    .where('id', 'in', membershipIds)
    .execute();
}

/**
 * A list shows the accounts of these members under an address that was never theirs. A look tells whose they are. If it
 * misses the account, this is all that is left of it, and the member could stay in by it.
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

/** A list shows members who count as removed: their removal goes on, and its looks begin anew. */
export async function resumeRemovals(tx: Transaction, membershipIds: number[], now: string): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ state: 'removing', missedAt: null, nextAttemptAt: now, unmetSince: now })
    .where('id', 'in', membershipIds)
    .where('wanted', '=', false)
    .where('state', '=', 'removed')
    // The brake has cleared it, as a removal that was done.
    .whereRef('clearedGeneration', '=', 'generation')
    .execute();
}

/** Has every trainer looked for who is believed to be in one of these tools. */
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
 * After a backup was put back, trainers who wait to be added may be in by a call that is forgotten. So an end has them
 * looked for, too.
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
 * The same for those who waited, and whose end was derived since `aliveAt`, before the backup was noticed: they counted
 * as never added.
 *
 * @returns whose end has to be derived again
 */
export async function reopenUntouched(tx: Transaction, aliveAt: string, now: string): Promise<PendingDerivation[]> {
  // `updatedAt` stays, so that they wait for a read of their install.
  return await tx
    .updateTable('membership')
    .set({ state: 'removing', lateUntil: now })
    .where('state', '=', 'removed')
    .where('isOurs', '=', false)
    .where('memberId', 'is', null)
    .where('updatedAt', '>=', aliveAt)
    // Without an address there is nothing to look for.
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

/** Nothing is left to be confirmed. A membership that is gone does not count as ours any more. */
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
    // Until the shared link is reset, a removed trainer may use it to come in again.
    .where((eb) => eb.not(isResetDue(eb)))
    .returning('id')
    .execute();
  for (const { id } of gone) await endGivenAddresses(tx, id, now);
}

/** Whether the shared link of the group is to be reset. */
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

/** The memberships that need one more look, and for which no call can arrive any more. */
export async function findUnconfirmed(
  db: Transaction,
  install: string,
  now: string,
): Promise<{ id: number; tool: string; groupId: string }[]> {
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

/** Makes a look due, which confirms the membership. */
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
  /** The account that was found. No other account may be removed. */
  memberId: string;
  removeAfter: string;
}

/**
 * Makes the removal due; the brake decides about it as about every other.
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

/** A membership as it was known, and the account by which its trainer is in now. */
export interface ArrivedMember {
  membershipId: number;
  tool: string;
  trainerId: string;
  memberId: string | null;
  accountId: string;
}

/** Changes nothing if the membership has another account by now, or if the account is another trainer's. */
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
