import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import type { MembershipRow } from '../db/tables.ts';
import type { MembershipState, Operation, ReceiptOutcome } from '../domain/membership.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { workEmailPlace } from './evidence-store.ts';

/**
 * The only SQL of converging. A claim is a lease with a token: whoever lost the lease can no longer
 * settle, and whoever decided under an older generation can no longer begin a call.
 */
export interface ClaimStore {
  hasDue(tool: string, now: string): Promise<boolean>;
  claim(order: ClaimOrder): Promise<Claim[]>;
  /** Gives a claim back without having done anything, to be taken again at `nextAttemptAt`. */
  putBack(claim: Claim, nextAttemptAt: string): Promise<void>;
  /**
   * Commits the intent that must stand before a call, and prolongs the lease for it.
   *
   * @returns false where the claim no longer holds, so that the call must not be made
   */
  begin(claim: Claim, intent: Intent, now: string, leasedUntil: string): Promise<boolean>;
  /** Writes the receipt, and the result where the claim still holds; else asks for another look. */
  settle(claim: Claim, result: Result, now: string): Promise<void>;
}

export interface ClaimOrder {
  tool: string;
  token: string;
  now: string;
  leasedUntil: string;
  limit: number;
}

export interface Claim {
  id: number;
  token: string;
  tool: string;
  groupId: string;
  trainerId: string;
  wanted: boolean;
  generation: number;
  state: MembershipState;
  memberId: string | null;
  isOurs: boolean;
  attempts: number;
  email: string | null;
  displayName: string | null;
}

export interface Intent {
  operation: Operation;
  /** What the look before the call found. */
  isFound: boolean;
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
  toolStatus?: number | undefined;
  message?: string | undefined;
}

export function createClaimStore(database: Database, box: SecretBox): ClaimStore {
  return {
    async hasDue(tool, now) {
      const due = database.kysely
        .selectFrom('membership')
        .select('id')
        .where('tool', '=', tool)
        .where('nextAttemptAt', '<=', now)
        .limit(1);
      return (await due.executeTakeFirst()) !== undefined;
    },

    async claim(order) {
      return await inTransaction(database, async (tx) => {
        const rows = await leaseDue(database, tx, order);
        const people = await findPeople(tx, box, rows);
        return rows.map((row) => toClaim(row, order.token, people.get(row.trainerId)));
      });
    },

    async putBack({ id, token }, nextAttemptAt) {
      await inTransaction(database, (tx) =>
        tx
          .updateTable('membership')
          .set({ ...noLease, nextAttemptAt })
          .where('id', '=', id)
          .where('leaseToken', '=', token)
          .execute(),
      );
    },

    async begin({ id, token, generation }, { operation, isFound }, now, leasedUntil) {
      const isAbsentBeforeAdding = operation === 'add' && !isFound;
      const wasFound = isFound ? 1 : 0;
      const write = async (tx: Transaction) => {
        const held = await tx
          .updateTable('membership')
          .set({ leasedUntil, ...(isAbsentBeforeAdding && { isOurs: 1 }) })
          .where('id', '=', id)
          .where('leaseToken', '=', token)
          .where('leasedUntil', '>', now)
          .where('generation', '=', generation)
          .executeTakeFirst();
        if (held.numUpdatedRows !== 1n) return false;
        await tx
          .insertInto('intent')
          .values({ membershipId: id, generation, operation, wasFound, createdAt: now })
          .execute();
        return true;
      };
      return await inTransaction(database, write, { isDurable: true });
    },

    async settle(claim, result, now) {
      await inTransaction(database, async (tx) => {
        await insertReceipt(tx, claim, result, now);
        if (await settleHeld(tx, claim, result, now)) return;
        await settleLost(tx, claim, result, now);
      });
    },
  };
}

const noLease = { leaseToken: null, leasedUntil: null };

async function leaseDue(
  { dialect }: Database,
  tx: Transaction,
  { tool, token, now, leasedUntil, limit }: ClaimOrder,
): Promise<MembershipRow[]> {
  let due = tx
    .selectFrom('membership')
    .select('id')
    .where('tool', '=', tool)
    .where('nextAttemptAt', '<=', now)
    .where((eb) => eb.or([eb('leasedUntil', 'is', null), eb('leasedUntil', '<=', now)]))
    .orderBy('nextAttemptAt')
    .orderBy('id')
    .limit(limit);
  if (dialect === 'postgres') due = due.forUpdate().skipLocked();
  const ids = (await due.execute()).map((row) => row.id);
  if (ids.length === 0) return [];
  return await tx
    .updateTable('membership')
    .set({ leaseToken: token, leasedUntil, lookAgain: 0 })
    .where('id', 'in', ids)
    .returningAll()
    .execute();
}

interface KnownPerson {
  email: string | null;
  displayName: string | null;
}

/** The latest that any install knows of these trainers. */
async function findPeople(
  tx: Transaction,
  box: SecretBox,
  rows: MembershipRow[],
): Promise<Map<string, KnownPerson>> {
  if (rows.length === 0) return new Map();
  const trainerIds = rows.map((row) => row.trainerId);
  const people = await tx
    .selectFrom('person')
    .selectAll()
    .where('trainerId', 'in', trainerIds)
    .orderBy('workEmailVersion')
    .execute();
  const known = new Map<string, KnownPerson>();
  for (const { install, trainerId, workEmail, displayName } of people) {
    const before = known.get(trainerId);
    const email =
      workEmail === null
        ? null
        : box.open(workEmail, workEmailPlace({ install, trainerId })).toString('utf8');
    known.set(trainerId, {
      email: email ?? before?.email ?? null,
      displayName: displayName ?? before?.displayName ?? null,
    });
  }
  return known;
}

function toClaim(row: MembershipRow, token: string, person: KnownPerson | undefined): Claim {
  const { id, tool, groupId, trainerId, generation, state, memberId, attempts } = row;
  return {
    ...{ id, token, tool, groupId, trainerId, generation, state, memberId, attempts },
    wanted: row.wanted === 1,
    isOurs: row.isOurs === 1,
    email: person?.email ?? null,
    displayName: person?.displayName ?? null,
  };
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
  { memberId }: Result,
  now: string,
): Promise<void> {
  const kept = await tx
    .updateTable('membership')
    .set({ ...noLease, nextAttemptAt: now, ...(memberId !== undefined && { memberId }) })
    .where('id', '=', id)
    .where('leaseToken', '=', token)
    .executeTakeFirst();
  if (kept.numUpdatedRows === 1n) return;
  await tx
    .updateTable('membership')
    .set({ lookAgain: 1, nextAttemptAt: now })
    .where('id', '=', id)
    .execute();
}
