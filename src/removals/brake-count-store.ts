import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { Tables } from '../db/schema.ts';
import { type BrakeCounts, brakeWindowMs, countedAfterMs, deliveredWindowMs } from '../domain/brake.ts';
import { heldStates } from '../domain/membership.ts';

/** Counts what the brake decides by: an install's members, and its removed, cleared and held removals. */
export async function countRemovals(tx: Transaction, install: string, now: Date): Promise<BrakeCounts> {
  const before = (ms: number) => new Date(now.getTime() - ms).toISOString();
  const since = before(brakeWindowMs);
  const held = await tx
    .selectFrom('membership')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('install', '=', install)
    .where('state', 'in', heldStates)
    .where((eb) => eb.or([eb('isOurs', '=', true), eb('memberId', 'is not', null)]))
    .where(wasInBefore(before(countedAfterMs)))
    .executeTakeFirstOrThrow();
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
  const waiting = await tx
    .selectFrom('plan')
    .innerJoin('planItem', 'planItem.planId', 'plan.id')
    .innerJoin('membership', 'membership.id', 'planItem.membershipId')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('plan.install', '=', install)
    .where('plan.state', '=', 'open')
    .where('planItem.outcome', 'is', null)
    .whereRef('membership.generation', '=', 'planItem.generation')
    .executeTakeFirstOrThrow();
  return { ...passed, held: held.n, waiting: waiting.n, delivered: await countDelivered(tx, install, now) };
}

/** The delivered ends that were cleared in the last 10 minutes. */
export async function countDelivered(tx: Transaction, install: string, now: Date): Promise<number> {
  const { n } = await tx
    .selectFrom('removal')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('install', '=', install)
    .where('clearedAt', '>', new Date(now.getTime() - deliveredWindowMs).toISOString())
    .where('clearance', '=', 'delivered')
    .executeTakeFirstOrThrow();
  return n;
}

/** Whether the member was found or added in the tool by then. */
function wasInBefore(at: string) {
  return (eb: ExpressionBuilder<Tables, 'membership'>): Expression<SqlBool> =>
    eb.exists(
      eb
        .selectFrom('receipt')
        .select('receipt.id')
        .whereRef('receipt.membershipId', '=', 'membership.id')
        .where('receipt.createdAt', '<=', at)
        .where('outcome', 'in', ['added', 'invited', 'already_member']),
    );
}
