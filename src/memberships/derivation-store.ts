import {
  type Expression,
  type ExpressionBuilder,
  type InsertQueryBuilder,
  type InsertResult,
  type OnConflictBuilder,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
} from 'kysely';
import type { Context, Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { takeTurn } from '../db/lock.ts';
import { hasRows, inParts, installsIn, keyIn, onSame } from '../db/query.ts';
import type { Tables } from '../db/schema.ts';
import type { Evidence, LinkEvidence } from '../domain/evidence.ts';
import type { Day } from '../domain/usage.ts';
import { turnsOf } from '../lib/turns.ts';

// The SQL of trainers whose memberships wait to be derived in a later transaction, and of those whose due work must be
// calculated again. Installs take turns at deriving, and within an install the first to arrive comes first.

export interface PendingDerivation {
  /** The install whose evidence touched the trainer. */
  install: string;
  trainerId: string;
}

/** Marks trainers as waiting to be derived. */
export async function postponeDerivation(tx: Transaction, waiting: readonly PendingDerivation[]): Promise<void> {
  for (const part of inParts(waiting)) {
    const insert = tx.insertInto('derivation').values(part.map(({ install, trainerId }) => ({ install, trainerId })));
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
  }
}

/** Marks all trainers who are or were on a contract of these installs. */
export async function postponeInstalls(tx: Transaction, installs: string[]): Promise<void> {
  const there = tx.selectFrom('participation').select(['install', 'trainerId']).distinct();
  await postpone(tx, there.where('install', 'in', installs), '');
}

/**
 * Marks the trainers whom a new configuration of these installs may affect. This includes the trainers of other
 * installs on the same tool, because their walls may have moved.
 *
 * @returns whether there is anything to derive
 */
export async function rerouteInstalls(ctx: Context, changed: readonly string[]): Promise<boolean> {
  if (changed.length === 0) return false;
  const tools = new Set(changed.map((name) => ctx.installs.get(name)?.tool));
  const neighbours = [...ctx.installs].filter(([, { tool }]) => tools.has(tool)).map(([name]) => name);
  const all = [...new Set([...changed, ...neighbours])];
  await inTransaction(ctx.database, (tx) => postponeInstalls(tx, all));
  return true;
}

/** Marks all orphaned trainers, because the configuration may route to them again. */
export async function postponeOrphans(tx: Transaction): Promise<void> {
  const orphaned = tx.selectFrom('membership').select(['install', 'trainerId']).distinct();
  await postpone(tx, orphaned.where('state', '=', 'orphaned'), '');
}

/**
 * Marks all trainers whom these rows affect. A participation or a person affects its trainer. A contract or a new pair
 * affects the trainers on the contract. A link affects the trainers of every link to its project, because it may take
 * over from those. A grant affects all trainers of its install.
 */
export async function postponeTouchedTrainers(tx: Transaction, changed: Evidence, evidenceAt: string): Promise<void> {
  const { contracts, links, grants, pairs, participations, people } = changed;
  const trainers = [...participations, ...people].map(({ install, trainerId }) => ({ install, trainerId, evidenceAt }));
  const each = new Map(trainers.map((one) => [JSON.stringify(one), one]));
  for (const part of inParts([...each.values()])) {
    await keepWaiting(tx.insertInto('derivation').values(part)).execute();
  }
  const allTrainers = tx.selectFrom('participation').select(['install', 'trainerId']).distinct();
  for (const part of inParts([...contracts, ...pairs])) {
    const there = allTrainers.where(keyIn(['install', 'contractId'], part));
    await postpone(tx, there, evidenceAt);
  }
  // These rows end access only after a grace period, so their trainers can wait until the install has been read.
  for (const part of inParts(links)) await postpone(tx, trainersOnProjects(tx, part), '');
  const installs = [...new Set(grants.map(({ install }) => install))];
  if (installs.length > 0) await postponeInstalls(tx, installs);
}

/** The trainers of these links, and of every other link to the same project. */
function trainersOnProjects(tx: Transaction, links: LinkEvidence[]) {
  const projects = links.filter((link) => link.externalProjectId !== null);
  const byProject = keyIn(['install', 'externalProjectId'], projects, 'link');
  const byId = keyIn(['install', 'linkId'], links, 'link');
  return tx
    .selectFrom('link')
    .innerJoin('contractLink', onSame('contractLink', 'link', ['install', 'linkId']))
    .innerJoin('participation', onSame('participation', 'contractLink', ['install', 'contractId']))
    .select(['participation.install', 'participation.trainerId'])
    .distinct()
    .where(projects.length === 0 ? byId : sql<boolean>`(${byId} or ${byProject})`);
}

async function postpone<T extends keyof Tables>(
  tx: Transaction,
  trainers: SelectQueryBuilder<Tables, T, PendingDerivation>,
  evidenceAt: string,
): Promise<void> {
  const rows = trainers.select(sql.val(evidenceAt).as('evidenceAt'));
  const columns = ['install', 'trainerId', 'evidenceAt'] as const;
  await keepWaiting(tx.insertInto('derivation').columns(columns).expression(rows)).execute();
}

/** A trainer who already waits keeps the same position. */
function keepWaiting(insert: InsertQueryBuilder<Tables, 'derivation', InsertResult>) {
  return insert.onConflict((conflict) =>
    conflict
      .columns(['trainerId', 'install'])
      .doUpdateSet((eb) => ({ evidenceAt: eb.ref('excluded.evidenceAt') }))
      .whereRef('derivation.evidenceAt', '<', 'excluded.evidenceAt'),
  );
}

/**
 * Whether a waiting trainer can be derived now. Trainers of installs that must be read first cannot.
 *
 * @param of only trainers of this install
 */
export async function hasPostponed(ctx: Storage, of?: string): Promise<boolean> {
  const postponed = ctx.database.kysely.selectFrom('derivation').where(mayBeDerived);
  return await hasRows(of === undefined ? postponed : postponed.where('install', '=', of));
}

/**
 * Takes the trainers whose turn it is, as many as there is room for, but at least one.
 *
 * @param room the maximum number of their participations
 * @returns by trainer: when the last evidence about them was received; an empty text if they wait for another reason
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
 * After a silence, older evidence waits until the install has been read. A trainer with newer evidence need not wait.
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

/**
 * Lets one instance at a time change evidence, until the transaction ends. Otherwise two instances that derive
 * memberships at the same time could each rely on a reason that the other one ends.
 */
export function lockEvidence(ctx: Storage, tx: Transaction): Promise<void> {
  return takeTurn(ctx.database, tx, 'evidence');
}

/** A trainer whose due work must be calculated again. */
interface StaleWork {
  trainerId: string;
  /** The first day that may have changed; empty for all. */
  fromDay: Day;
  /** Whether days that were sent for the last time are sent again if they change. */
  reopens?: boolean;
}

/**
 * Marks trainers in the transaction that changes their work, contracts or decisions. Nothing is sent for them until
 * their due work has been calculated again.
 *
 * @param stale each trainer once
 */
export async function markWorkStale(tx: Transaction, stale: readonly StaleWork[]): Promise<void> {
  // Sorted, so that two transactions cannot deadlock.
  const rows = stale
    .map(({ trainerId, fromDay, reopens = false }) => ({ trainerId, fromDay, reopens }))
    .sort((a, b) => (a.trainerId < b.trainerId ? -1 : 1));
  for (const part of inParts(rows)) {
    await tx.insertInto('usageStale').values(part).onConflict(keepEarliest).execute();
  }
}

/** Of two days for one trainer, the earlier is kept. */
function keepEarliest(conflict: OnConflictBuilder<Tables, 'usageStale'>) {
  return conflict.column('trainerId').doUpdateSet({
    fromDay: sql`case when excluded.from_day < usage_stale.from_day then excluded.from_day else usage_stale.from_day end`,
    reopens: sql`case when excluded.reopens > usage_stale.reopens then excluded.reopens else usage_stale.reopens end`,
  });
}
