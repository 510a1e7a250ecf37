import type { Expression, ExpressionBuilder, SelectQueryBuilder, SqlBool } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { installsIn } from '../db/installs-in.ts';
import { inParts } from '../db/key-in.ts';
import { hasRows } from '../db/rows.ts';
import type { Tables } from '../db/schema.ts';
import type { Storage } from '../keys/storage.ts';
import { turnsOf } from '../lib/turns.ts';

// The SQL of trainers whose memberships wait to be derived in a later transaction. Installs take turns. Within one
// install the order of arrival counts.

export interface PendingDerivation {
  /** The install whose evidence touched the trainer. */
  install: string;
  trainerId: string;
}

/** Marks trainers as waiting to be derived. */
export async function postponeDerivation(tx: Transaction, waiting: readonly PendingDerivation[]): Promise<void> {
  for (const part of inParts(waiting)) {
    await tx
      .insertInto('derivation')
      .values(part.map(({ install, trainerId }) => ({ install, trainerId })))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** Marks all trainers who are or were on a contract of these installs. */
export async function postponeInstalls(tx: Transaction, installs: string[]): Promise<void> {
  const there = tx.selectFrom('participation').select(['install', 'trainerId']).distinct();
  await postponeSelected(tx, there.where('install', 'in', installs));
}

/** Marks all orphaned trainers as waiting to be derived, because the configuration may route there again. */
export async function postponeOrphans(tx: Transaction): Promise<void> {
  const orphaned = tx.selectFrom('membership').select(['install', 'trainerId']).distinct();
  await postponeSelected(tx, orphaned.where('state', '=', 'orphaned'));
}

async function postponeSelected<T extends keyof Tables>(
  tx: Transaction,
  trainers: SelectQueryBuilder<Tables, T, PendingDerivation>,
): Promise<void> {
  await tx
    .insertInto('derivation')
    .columns(['install', 'trainerId'])
    .expression(trainers)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/**
 * Whether a trainer waits who may be derived now. Trainers of installs that must be read first may not.
 *
 * @param of counts only entries of this install
 */
export async function hasPostponed(ctx: Storage, of?: string): Promise<boolean> {
  const postponed = ctx.database.kysely.selectFrom('derivation').where(mayBeDerived);
  return await hasRows(of === undefined ? postponed : postponed.where('install', '=', of));
}

/**
 * Takes the trainers whose turn it is, as many as there is room for, but at least one.
 *
 * @param room how many of their participations may be read
 * @returns by trainer: when the last evidence about them was received; empty if they wait for another reason
 */
export async function takePostponed(
  ctx: Storage,
  tx: Transaction,
  limit: number,
  room: number,
): Promise<Map<string, { receivedAt: string }>> {
  const turns = turnsOf(ctx.database, 'derivation');
  const candidates = await turns.take(await installsIn(tx, 'derivation'), limit, (install, part) =>
    findWaiting(tx, install, part),
  );
  const waiting = new Map(candidates.map(({ trainerId, evidenceAt }) => [trainerId, evidenceAt]));
  const distinct = [...waiting.keys()];
  const counts = await countContractsOf(tx, distinct);
  let left = room;
  const taken = distinct.filter((trainerId, index) => {
    left -= counts.get(trainerId) ?? 0;
    return index === 0 || left >= 0;
  });
  await dropPostponed(tx, taken);
  return new Map(taken.map((trainerId) => [trainerId, { receivedAt: waiting.get(trainerId) ?? '' }]));
}

/** Removes the marks of trainers who are derived now. */
export async function dropPostponed(tx: Transaction, trainerIds: readonly string[]): Promise<void> {
  await tx.deleteFrom('derivation').where('trainerId', 'in', trainerIds).execute();
}

/** By trainer: the number of contracts in all installs that the trainer is or was on. */
export async function countContractsOf(tx: Transaction, trainerIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx
    .selectFrom('participation')
    .select((eb) => ['trainerId', eb.fn.countAll<number>().as('count')])
    .where('trainerId', 'in', trainerIds)
    .groupBy('trainerId')
    .execute();
  return new Map(rows.map(({ trainerId, count }) => [trainerId, count]));
}

async function findWaiting(tx: Transaction, install: string, limit: number) {
  return await tx
    .selectFrom('derivation')
    .select(['trainerId', 'evidenceAt'])
    .where('install', '=', install)
    .where(mayBeDerived)
    .orderBy('arrival')
    .limit(limit)
    .execute();
}

/**
 * After a silence, evidence from before it must wait until the marketplace was asked. A trainer with newer evidence
 * need not wait.
 */
function mayBeDerived(eb: ExpressionBuilder<Tables, 'derivation'>): Expression<SqlBool> {
  return eb.not(
    eb.exists(
      eb
        .selectFrom('participation')
        .innerJoin('installState', 'installState.install', 'participation.install')
        .select('participation.trainerId')
        .whereRef('participation.trainerId', '=', 'derivation.trainerId')
        .whereRef('installState.heldSince', '>', 'derivation.evidenceAt'),
    ),
  );
}
