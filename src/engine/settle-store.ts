import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import type { Tables } from '../db/tables.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { MembershipState, Operation, ReceiptOutcome } from '../domain/membership.ts';
import { type Claim, mayBeWorkedOn, noLease } from './claim-store.ts';

/** The SQL of acting on a claim: the intent before a call, and the receipt after it. */
export interface SettleStore {
  /**
   * Commits the intent that must stand before a call, and prolongs the lease for it.
   *
   * @returns null where the claim no longer holds, so that the call must not be made
   */
  begin(claim: Claim, intent: Intent, now: string, leasedUntil: string): Promise<Begun | null>;
  /** Writes the receipt, and the result where the claim still holds; else asks for another look. */
  settle(claim: Claim, result: Result, now: string): Promise<void>;
}

export interface Intent {
  operation: Operation;
  /** What the look before the call found, by the tool's id. */
  foundId: string | null;
}

/** What else the account is in use for, asked in the transaction that holds the intent. */
export interface Begun {
  /** Another person of ours has the same account in this group. */
  isShared: boolean;
  /** Nothing else in the whole tool keeps the account. */
  isLastOfAccount: boolean;
}

export interface Result {
  operation: Operation;
  outcome: ReceiptOutcome;
  state: MembershipState;
  /** What was learnt of the member; stays as it was where nothing was. */
  memberId?: string;
  isOurs?: boolean;
  /** When to try again; null when there is nothing left to do. */
  nextAttemptAt: string | null;
  errorCode?: ErrorCode;
  retryAfterMs?: number | undefined;
  toolStatus?: number | undefined;
  message?: string | undefined;
}

export function createSettleStore(database: Database): SettleStore {
  return {
    async begin(claim, intent, now, leasedUntil) {
      const write = async (tx: Transaction) => {
        if (!(await prolong(tx, claim, intent, now, leasedUntil))) return null;
        await insertIntent(tx, claim, intent, now);
        return intent.operation === 'add' ? unshared : await askOthers(tx, claim, intent.foundId);
      };
      return await inTransaction(database, write, { isDurable: true });
    },

    settle: (claim, result, now) =>
      inTransaction(database, async (tx) => {
        if (isNews(claim, result)) await insertReceipt(tx, claim, result, now);
        const isHeld = await settleHeld(tx, claim, await withOwnership(tx, claim, result), now);
        if (!isHeld) await settleLost(tx, claim, result, now);
        await tellAccount(tx, claim, result, now);
      }),
  };
}

/** What was done, or left, may concern whoever else has the account. */
async function tellAccount(
  tx: Transaction,
  claim: Claim,
  { outcome, memberId }: Result,
  now: string,
): Promise<void> {
  const accountId = memberId ?? claim.memberId;
  if (outcome === 'kept_for_another' && claim.isOurs) await handOver(tx, claim, accountId);
  if (outcome === 'removed') await lookAtAccount(tx, claim, accountId, now);
}

async function prolong(
  tx: Transaction,
  { id, token, generation }: Claim,
  { operation, foundId }: Intent,
  now: string,
  leasedUntil: string,
): Promise<boolean> {
  const isAbsentBeforeAdding = operation === 'add' && foundId === null;
  const held = await tx
    .updateTable('membership')
    .set({ leasedUntil, ...(isAbsentBeforeAdding && { isOurs: 1 }) })
    .where('id', '=', id)
    .where('leaseToken', '=', token)
    .where('leasedUntil', '>', now)
    .where('generation', '=', generation)
    .executeTakeFirst();
  return held.numUpdatedRows === 1n;
}

async function insertIntent(
  tx: Transaction,
  { id: membershipId, generation }: Claim,
  { operation, foundId }: Intent,
  now: string,
): Promise<void> {
  const wasFound = foundId === null ? 0 : 1;
  await tx
    .insertInto('intent')
    .values({ membershipId, generation, operation, wasFound, createdAt: now })
    .execute();
}

const unshared: Begun = { isShared: false, isLastOfAccount: false };

/** Asks of every other membership of the account whether it is still to be there. */
async function askOthers(tx: Transaction, claim: Claim, foundId: string | null): Promise<Begun> {
  const others = await tx
    .selectFrom('membership')
    .select(['groupId', 'memberId'])
    .where((eb) => eb.and([isOfAccount(eb, claim, foundId), isInUse(eb)]))
    .execute();
  return {
    isShared: others.some(
      ({ groupId, memberId }) => groupId === claim.groupId && memberId === foundId,
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

/** A look that shows what was known is nothing to keep. */
function isNews(claim: Claim, { outcome, state }: Result): boolean {
  return outcome !== 'already_member' || claim.state !== state;
}

/** Who is found under an account that we made for another is ours too. */
async function withOwnership(tx: Transaction, claim: Claim, result: Result): Promise<Result> {
  const { outcome, memberId, isOurs = claim.isOurs } = result;
  if (outcome !== 'already_member' || isOurs || memberId === undefined) return result;
  const owner = await tx
    .selectFrom('membership')
    .select('id')
    .where('tool', '=', claim.tool)
    .where('memberId', '=', memberId)
    .where('groupId', '=', claim.groupId)
    .where('isOurs', '=', 1)
    .executeTakeFirst();
  return owner === undefined ? result : { ...result, isOurs: true };
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

async function insertReceipt(
  tx: Transaction,
  { id, generation }: Claim,
  { operation, outcome, toolStatus, message }: Result,
  now: string,
): Promise<void> {
  await tx
    .insertInto('receipt')
    .values({
      membershipId: id,
      generation,
      operation,
      outcome,
      toolStatus: toolStatus ?? null,
      message: message ?? null,
      createdAt: now,
    })
    .execute();
}

async function settleHeld(
  tx: Transaction,
  { id, token, generation, attempts }: Claim,
  { outcome, state, memberId, isOurs, nextAttemptAt, message }: Result,
  now: string,
): Promise<boolean> {
  const hasFailed = outcome === 'failed' || outcome === 'refused';
  const settled = await tx
    .updateTable('membership')
    .set((eb) => ({
      ...noLease,
      state,
      ...(memberId !== undefined && { memberId }),
      ...(isOurs !== undefined && { isOurs: isOurs ? 1 : 0 }),
      nextAttemptAt: eb.case().when('lookAgain', '=', 1).then(now).else(nextAttemptAt).end(),
      lookAgain: 0,
      attempts: hasFailed ? attempts + 1 : 0,
      failure: hasFailed ? (message ?? null) : null,
      updatedAt: now,
    }))
    .where('id', '=', id)
    .where('leaseToken', '=', token)
    .where('generation', '=', generation)
    .executeTakeFirst();
  return settled.numUpdatedRows === 1n;
}

/**
 * Something else is wanted by now, or somebody else took the work over. What was done may have
 * undone theirs, also after they looked: whatever they come to settle, the tool is looked at again.
 */
async function settleLost(
  tx: Transaction,
  { id, token }: Claim,
  { outcome, memberId }: Result,
  now: string,
): Promise<void> {
  const learnt = {
    ...(memberId !== undefined && { memberId }),
    // Whatever was settled meanwhile: this one was put there by us.
    ...(outcome === 'added' && { isOurs: 1 }),
  };
  const kept = await tx
    .updateTable('membership')
    .set((eb) => ({ ...noLease, ...learnt, nextAttemptAt: dueAgain(eb, now) }))
    .where('id', '=', id)
    .where('leaseToken', '=', token)
    .executeTakeFirst();
  if (kept.numUpdatedRows === 1n) return;
  await tx
    .updateTable('membership')
    .set((eb) => ({ ...learnt, lookAgain: 1, nextAttemptAt: dueAgain(eb, now) }))
    .where('id', '=', id)
    .execute();
}

/** Where there is something to do: else it would be due for ever, and never claimed. */
function dueAgain(eb: MembershipBuilder, now: string) {
  return eb.case().when(mayBeWorkedOn(eb)).then(now).else(eb.ref('nextAttemptAt')).end();
}
