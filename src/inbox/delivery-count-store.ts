import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { firstIdBeyond, firstIdSince } from '../db/query.ts';
import type { Tables } from '../db/schema.ts';
import type { DeliveryState } from '../domain/delivery.ts';

/** The SQL of how many deliveries there were, and what became of them. */

export interface DeliveryCount {
  install: string;
  state: DeliveryState;
  count: number;
}

/** A row is as large as its body, so they are counted by indexes, except those of the minutes about `since`. */
export async function countDeliveries(kysely: Database['kysely'], since: string): Promise<DeliveryCount[]> {
  const first = await firstIdSince(kysely, 'delivery', 'receivedAt', since);
  const beyond = await firstIdBeyond(kysely, 'delivery', 'receivedAt', since);
  const about = await kysely
    .selectFrom('delivery')
    .select(['install', 'state', kysely.fn.countAll<number>().as('count')])
    .where('id', '>=', first)
    .where('id', '<', beyond)
    .where('receivedAt', '>=', since)
    .groupBy(['install', 'state'])
    .execute();
  return addUp([...about, ...(await countFrom(kysely, beyond))]);
}

const unhandledStates = ['pending', 'ignored', 'failed', 'unprocessable'] as const;

/** What is handled has no index of its own: it is all but the others. */
async function countFrom(kysely: Database['kysely'], id: number): Promise<DeliveryCount[]> {
  const { rows: all } = await countAll(id).execute(kysely);
  const others: DeliveryCount[] = [];
  for (const state of unhandledStates) {
    const counted = await kysely
      .selectFrom('delivery')
      .select(['install', kysely.fn.countAll<number>().as('count')])
      .where(isIn(state))
      .where(sql<number>`+id`, '>=', id)
      .groupBy('install')
      .execute();
    others.push(...counted.map((one) => ({ ...one, state })));
  }
  const handled = all.map(({ install, count }): DeliveryCount => ({ install, state: 'handled', count: Number(count) }));
  const less = others.map(
    ({ install, count }): DeliveryCount => ({ install, state: 'handled', count: -Number(count) }),
  );
  return [...handled, ...less, ...others];
}

/** By install, from one of its entries in the index to the next: so the plan goes through no table. */
export function countAll(fromId: number) {
  return sql<{ install: string; count: number }>`
    with recursive named(install) as (
      select min(install) from delivery
      union all
      select (select min(install) from delivery where install > named.install) from named where install is not null)
    select install, (select count(*) from delivery where install = named.install and id >= ${fromId}) as count
    from named where install is not null`;
}

function addUp(counts: readonly DeliveryCount[]): DeliveryCount[] {
  const sums = new Map<string, DeliveryCount>();
  for (const one of counts) {
    const key = JSON.stringify([one.install, one.state]);
    const count = (sums.get(key)?.count ?? 0) + Number(one.count);
    sums.set(key, { ...one, count });
  }
  const some = [...sums.entries()].filter(([, { count }]) => count > 0);
  return some.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** Deliveries of any age that were given up, or could not be read. */
export async function countTroubled(kysely: Database['kysely']): Promise<{ state: DeliveryState; count: number }[]> {
  return await kysely
    .selectFrom('delivery')
    .select(['state', kysely.fn.countAll<number>().as('count')])
    // By this condition they are found among millions that are not in trouble.
    .where('failure', 'is not', null)
    .where('state', 'in', ['failed', 'unprocessable'])
    .groupBy('state')
    .orderBy('state')
    .execute();
}

/** Chooses deliveries. */
export type Condition = (eb: ExpressionBuilder<Tables, 'delivery'>) => Expression<SqlBool>;

/** A failed delivery has a `failure`. The index on it finds it among millions of others. */
export function isIn(state: DeliveryState): Condition {
  // As the partial indexes say it; what is pending is what has a next attempt.
  if (state === 'pending') return (eb) => eb('nextAttemptAt', 'is not', null);
  const isTrouble = state === 'failed' || state === 'unprocessable';
  const isState = sql<boolean>`state = ${sql.lit(state)}`;
  return (eb) => (isTrouble ? eb.and([isState, eb('failure', 'is not', null)]) : eb.and([isState]));
}
