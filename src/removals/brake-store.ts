import type { ExpressionBuilder } from 'kysely';
import type { Storage } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { isFree } from '../db/lock.ts';
import { countRows, inParts } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import {
  type BrakeCounts,
  brakeWindowMs,
  type Clearance,
  countedAfterMs,
  type DueRemoval,
  deliveredWindowMs,
} from '../domain/brake.ts';
import type { Route } from '../domain/install.ts';
import { heldStates, type ReceiptOutcome } from '../domain/membership.ts';
import type { DueEnd } from '../domain/required-readings.ts';
import { isExplicit } from '../domain/standing.ts';
import { holdRemovals } from '../memberships/clearance-store.ts';
import type { MembershipCondition } from '../memberships/membership-store.ts';

// The SQL of the brake: removals that are due, cleared or held, and the count of all removals.

export type HeldRemoval = Pick<DueRemoval, 'membershipId' | 'generation' | 'cause'>;

/** A removal that is due, from a group. */
export interface DueMembership extends Omit<DueRemoval, 'canReturn'>, DueEnd, Route {}

/** Installs with removals that are due. */
export async function installsWithRemovalsDue(ctx: Storage, now: string): Promise<string[]> {
  const rows = await ctx.database.kysely
    .selectFrom('membership')
    .select('install')
    .distinct()
    .where(isRemovalDue(now))
    .execute();
  return rows.map((row) => row.install);
}

/** The ids of the install's due removals. */
export async function dueRemovals(ctx: Storage, install: string, now: string): Promise<number[]> {
  const rows = await ctx.database.kysely
    .selectFrom('membership')
    .select('id')
    .where('install', '=', install)
    .where(isRemovalDue(now))
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** Those of these removals that are still due. */
export async function loadDueRemovals(
  tx: Transaction,
  install: string,
  ids: readonly number[],
  now: string,
): Promise<DueMembership[]> {
  const rows = await tx
    .selectFrom('membership')
    .where('id', 'in', ids)
    .where('install', '=', install)
    .where(isRemovalDue(now))
    .select((eb) => wasApproved(eb).as('approved'))
    .leftJoin('awaitedReading', (join) =>
      join
        .onRef('awaitedReading.membershipId', '=', 'membership.id')
        .onRef('awaitedReading.generation', '=', 'membership.generation'),
    )
    .select(['id as membershipId', 'membership.generation', 'cause', 'isOurs', 'tool', 'groupId', 'install'])
    .select(['updatedAt as derivedAt', 'removeAfter', 'isExplicit'])
    .select(['installsSince', 'workSince', 'listsSince'])
    .orderBy('id')
    .execute();
  return rows.flatMap(({ cause, removeAfter: dueAt, approved, isExplicit: wasExplicit, ...row }) => {
    if (cause === null || dueAt === null) return [];
    const { installsSince, workSince, listsSince, ...removal } = row;
    // An explicit end after weaker evidence, or the reverse, starts new waits. The work is not read again.
    const isSame = wasExplicit === isExplicit(cause);
    const waits = { installsSince: isSame ? installsSince : null, workSince, listsSince: isSame ? listsSince : null };
    return [{ ...removal, cause, dueAt, isApproved: Boolean(approved), waits }];
  });
}

/** @returns the id of the plan */
export async function holdRemovalsInPlan(
  tx: Transaction,
  install: string,
  held: HeldRemoval[],
  now: string,
): Promise<number> {
  const { id: planId } = await tx
    .insertInto('plan')
    .values({ install, state: 'open', createdAt: now })
    .returning('id')
    .executeTakeFirstOrThrow();
  const items = held.map(({ membershipId, generation, cause }) => ({ planId, membershipId, generation, cause }));
  for (const part of inParts(items)) await tx.insertInto('planItem').values(part).execute();
  const ids = items.map(({ membershipId }) => membershipId);
  await holdRemovals(tx, ids, now);
  return planId;
}

export async function lastPlanAt(tx: Transaction, install: string): Promise<string | null> {
  const plan = await tx
    .selectFrom('plan')
    .select((eb) => eb.fn.max('createdAt').as('at'))
    .where('install', '=', install)
    .executeTakeFirst();
  return plan?.at ?? null;
}

/** Whether an operator has approved this removal. */
function wasApproved(eb: ExpressionBuilder<Tables, 'membership'>) {
  return eb.exists(
    eb
      .selectFrom('planItem')
      .select('planItem.planId')
      .whereRef('planItem.membershipId', '=', 'membership.id')
      .whereRef('planItem.generation', '=', 'membership.generation')
      .where('planItem.outcome', '=', 'approved'),
  );
}

/** Removals that were cleared in these ways and have not begun. `id` is that of the clearance. */
export async function findUnstarted(
  tx: Transaction,
  install: string,
  clearances: readonly Clearance[],
  now: Date,
): Promise<(HeldRemoval & { id: number })[]> {
  const since = new Date(now.getTime() - brakeWindowMs).toISOString();
  const rows = await tx
    .selectFrom('removal')
    .innerJoin('membership', 'membership.id', 'removal.membershipId')
    .select(['removal.id', 'membershipId', 'membership.generation', 'membership.cause'])
    .where('removal.install', '=', install)
    .where('clearedAt', '>', since)
    .where('clearance', 'in', clearances)
    .where('state', '=', 'removing')
    // After a look that found no member, the removal only needs confirmation.
    .where('missedAt', 'is', null)
    .whereRef('removal.generation', '=', 'membership.generation')
    .where(isFree('membership', now.toISOString()))
    .execute();
  return rows.flatMap(({ cause, ...row }) => (cause === null ? [] : [{ ...row, cause }]));
}

/** Its time has come, and no newer evidence about the trainer waits to be derived. */
function isRemovalDue(now: string): MembershipCondition {
  return (eb) =>
    eb.and([
      eb('removeAfter', '<=', now),
      eb.not(
        eb.exists(
          eb
            .selectFrom('derivation')
            .select('derivation.trainerId')
            .whereRef('derivation.trainerId', '=', 'membership.trainerId'),
        ),
      ),
    ]);
}

/** The counts that the brake needs: the install's members, and its removed, cleared and held removals. */
export async function countRemovals(tx: Transaction, install: string, now: Date): Promise<BrakeCounts> {
  const before = (ms: number) => new Date(now.getTime() - ms).toISOString();
  const since = before(brakeWindowMs);
  const held = tx
    .selectFrom('membership')
    .where('install', '=', install)
    .where('state', 'in', heldStates)
    .where((eb) => eb.or([eb('isOurs', '=', true), eb('memberId', 'is not', null)]))
    .where(wasInBefore(before(countedAfterMs)));
  const passed = await tx
    .selectFrom('removal')
    .innerJoin('membership', 'membership.id', 'removal.membershipId')
    .select((eb) => [
      eb.fn
        .count<number>('removal.membershipId')
        .distinct()
        .filterWhere('membership.state', '=', 'removed')
        .filterWhere(wasInBefore(before(countedAfterMs)))
        .as('removed'),
      eb.fn.countAll<number>().filterWhere('clearance', '=', 'braked').as('braked'),
    ])
    .where('removal.install', '=', install)
    .where('clearedAt', '>', since)
    .executeTakeFirstOrThrow();
  const waiting = tx
    .selectFrom('plan')
    .innerJoin('planItem', 'planItem.planId', 'plan.id')
    .innerJoin('membership', 'membership.id', 'planItem.membershipId')
    .where((eb) => eb.and({ 'plan.install': install, 'plan.state': 'open' }))
    .where('planItem.outcome', 'is', null)
    .whereRef('membership.generation', '=', 'planItem.generation');
  return {
    ...passed,
    held: await countRows(held),
    waiting: await countRows(waiting),
    delivered: await countDelivered(tx, install, now),
  };
}

/** The delivered ends that were cleared in the last 10 minutes. */
export async function countDelivered(tx: Transaction, install: string, now: Date): Promise<number> {
  const since = new Date(now.getTime() - deliveredWindowMs).toISOString();
  const removals = tx.selectFrom('removal').where((eb) => eb.and({ install, clearance: 'delivered' }));
  return await countRows(removals.where('clearedAt', '>', since));
}

/** Whether the member was found or added in the tool by then. */
function wasInBefore(at: string): MembershipCondition {
  return (eb) =>
    eb.exists(
      eb
        .selectFrom('receipt')
        .select('receipt.id')
        .whereRef('receipt.membershipId', '=', 'membership.id')
        .where('receipt.createdAt', '<=', at)
        .where('outcome', 'in', ['added', 'invited', 'already_member']),
    );
}

/**
 * Counts all removals ever made, with their receipt: a counter in memory would miss those of commands and of other
 * processes. Call it last in a transaction, because all removals of an install wait for each other on this row.
 */
export async function countRemoved(
  tx: Transaction,
  { install }: { install: string },
  { outcome }: { outcome: ReceiptOutcome },
): Promise<void> {
  if (outcome !== 'removed') return;
  await tx
    .insertInto('removalTotal')
    .values({ install, removed: 1 })
    .onConflict((conflict) =>
      conflict.column('install').doUpdateSet((eb) => ({ removed: eb('removalTotal.removed', '+', 1) })),
    )
    .execute();
}

export async function listRemoved({ kysely }: Pick<Database, 'kysely'>): Promise<Row<'removalTotal'>[]> {
  return await kysely.selectFrom('removalTotal').selectAll().execute();
}
