import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { Tables } from '../db/tables.ts';
import { type Claim, mayBeWorkedOn } from './claim-store.ts';
import type { Result } from './settle-store.ts';

/** The SQL of accounts: several memberships, and several people, may share one (design section 2). */

/** What else the account is in use for, asked in the transaction that holds the intent. */
export interface Begun {
  /** Another person of ours has the same account in this group. */
  isShared: boolean;
  /** Another person of ours has the same account, wherever in the tool. */
  isOfAnother: boolean;
  /** Nothing else in the whole tool keeps the account. */
  isLastOfAccount: boolean;
}

export const unshared: Begun = { isShared: false, isOfAnother: false, isLastOfAccount: false };

/** Asks of every other membership of the account whether it is still to be there. */
export async function askOthers(
  tx: Transaction,
  claim: Claim,
  foundId: string | null,
): Promise<Begun> {
  const others = await tx
    .selectFrom('membership')
    .select(['groupId', 'memberId', 'trainerId'])
    .where((eb) => eb.and([isOfAccount(eb, claim, foundId), isInUse(eb)]))
    .execute();
  return {
    isShared: others.some(
      ({ groupId, memberId }) => groupId === claim.groupId && memberId === foundId,
    ),
    isOfAnother: others.some(
      ({ trainerId, memberId }) => trainerId !== claim.trainerId && memberId === foundId,
    ),
    isLastOfAccount: others.length === 0,
  };
}

type MembershipBuilder = ExpressionBuilder<Tables, 'membership'>;

/**
 * By trainer, by the tool's own id, or by an address that several trainers have. Each by its index,
 * one after the other: as alternatives of one condition, PostgreSQL would look at the whole tool.
 */
function isOfAccount(
  eb: MembershipBuilder,
  { id, tool, trainerId, memberId }: Claim,
  accountId = memberId,
): Expression<SqlBool> {
  const ofAccount = sql<number>`(
    select id from membership where tool = ${tool} and trainer_id in (
      select other.trainer_id from person as own
        join person as other on other.work_email_digest = own.work_email_digest
        where own.trainer_id = ${trainerId}
      union all select ${trainerId})
    union select id from membership where tool = ${tool} and member_id = ${accountId})`;
  return eb.and([eb('id', '<>', id), sql<SqlBool>`membership.id in ${ofAccount}`]);
}

/** Wanted, there before us, or not yet let go of: by grace, by the brake, or by an operator. */
function isInUse(eb: MembershipBuilder): Expression<SqlBool> {
  const isLetGo = eb('clearedGeneration', '=', eb.ref('generation'));
  return eb.or([
    eb('wanted', '=', 1),
    eb('state', '=', 'released'),
    eb.and([
      eb('state', 'in', ['removing', 'held', 'failed']),
      eb.or([eb('clearedGeneration', 'is', null), eb.not(isLetGo)]),
    ]),
  ]);
}

/** What was done, or left, may concern whoever else has the account. */
export async function tellAccount(
  tx: Transaction,
  claim: Claim,
  { outcome, memberId }: Result,
  now: string,
): Promise<void> {
  const accountId = memberId ?? claim.memberId;
  if (outcome === 'kept_for_another' && claim.isOurs) await handOver(tx, claim, accountId);
  if (outcome === 'removed') await lookAtAccount(tx, claim, accountId, now);
}

async function handOver(tx: Transaction, claim: Claim, accountId: string | null): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ isOurs: 1 })
    .where('groupId', '=', claim.groupId)
    .where('memberId', '=', accountId)
    .where((eb) => eb.and([isOfAccount(eb, claim, accountId), isInUse(eb)]))
    .execute();
}

/** What else the account was in may be gone with it, and is put back where it is wanted. */
async function lookAtAccount(
  tx: Transaction,
  claim: Claim,
  accountId: string | null,
  now: string,
): Promise<void> {
  await tx
    .updateTable('membership')
    .set((eb) => ({ lookAgain: 1, nextAttemptAt: dueAgain(eb, now) }))
    .where('wanted', '=', 1)
    .where((eb) => isOfAccount(eb, claim, accountId))
    .execute();
}

/** Where there is something to do: else it would be due for ever, and never claimed. */
export function dueAgain(eb: MembershipBuilder, now: string) {
  return eb.case().when(mayBeWorkedOn(eb)).then(now).else(eb.ref('nextAttemptAt')).end();
}
