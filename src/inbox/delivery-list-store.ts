import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { firstIdBeyond, firstIdSince } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import type { DeliveryState } from '../domain/delivery.ts';

// The SQL of showing deliveries to people: lists, the newest first, and counts by install and state.

export interface DeliveryFilter {
  install?: string | undefined;
  state?: DeliveryState | undefined;
  type?: string | undefined;
  /** The first and the last instant at which they were received. */
  since?: string | undefined;
  until?: string | undefined;
  /** Only deliveries with a smaller id: the page before one that was listed. */
  before?: number | undefined;
  /** Only deliveries about one of these contracts, links or installs. */
  subjects?: readonly string[] | undefined;
  limit: number;
}

export type ListedDelivery = Omit<Row<'delivery'>, 'body' | 'nextAttemptAt'>;

export const listedColumns = [
  'id',
  'install',
  'bodySha256',
  'deliveryId',
  'eventType',
  'subjectId',
  'receivedAt',
  'state',
  'attempts',
  'failure',
  'readerVersion',
  'headers',
] as const;

export async function listDeliveries(kysely: Transaction, filter: DeliveryFilter): Promise<ListedDelivery[]> {
  return await kysely
    .selectFrom('delivery')
    .select(listedColumns)
    .where('id', 'in', await newestIds(kysely, filter))
    .orderBy('id', 'desc')
    .execute();
}

export async function listDeliveryIds(kysely: Transaction, filter: DeliveryFilter): Promise<number[]> {
  return (await (await newestIds(kysely, filter)).execute()).map(({ id }) => id);
}

async function newestIds(kysely: Transaction, filter: DeliveryFilter) {
  const query = await between(kysely, matching(kysely, filter, await hasBetterThanType(kysely, filter)), filter);
  return query.select('id').orderBy(idOf(filter), 'desc').limit(filter.limit);
}

/**
 * Deliveries that are not handled are few, and have indexes of their own. A database does not know how few they are,
 * and would use the index on type, install or id. Expressions in place of these columns prevent that.
 */
function isOfFew({ state }: DeliveryFilter): boolean {
  return state !== undefined && state !== 'handled';
}

function idOf({ state }: DeliveryFilter) {
  // The index on failed and unprocessable deliveries is in the order of ids.
  return state === 'pending' || state === 'ignored' ? sql<number>`+id` : sql.ref<number>('id');
}

function textOf(column: 'install' | 'eventType', isWithoutIndex: boolean) {
  return isWithoutIndex ? sql<string>`${sql.ref(column)} || ''` : sql.ref<string>(column);
}

/** So many rows are read in a few hundredths of a second. */
const few = 20_000;

/** Whether another index finds fewer deliveries than the index on the type. */
async function hasBetterThanType(kysely: Transaction, filter: DeliveryFilter): Promise<boolean> {
  const { install, type } = filter;
  if (type === undefined || isOfFew(filter)) return true;
  if (install === undefined) return false;
  const some = kysely.selectFrom('delivery').select('id').where('install', '=', install).limit(few).as('some');
  const counted = kysely.selectFrom(some).select((eb) => eb.fn.countAll<number>().as('count'));
  return Number((await counted.executeTakeFirstOrThrow()).count) < few;
}

function matching(kysely: Transaction, filter: DeliveryFilter, isTypeWithoutIndex: boolean) {
  const { install, state, type, before, subjects } = filter;
  let query = kysely.selectFrom('delivery');
  if (install !== undefined) query = query.where(textOf('install', isOfFew(filter)), '=', install);
  if (state !== undefined) query = query.where(isIn(state));
  if (type !== undefined) query = query.where(textOf('eventType', isTypeWithoutIndex), '=', type);
  if (before !== undefined) query = query.where(idOf(filter), '<', before);
  if (subjects !== undefined) query = query.where('subjectId', 'in', subjects.length === 0 ? [''] : subjects);
  return query;
}

async function between(kysely: Transaction, query: ReturnType<typeof matching>, filter: DeliveryFilter) {
  const { since, until } = filter;
  let bounded = query;
  if (since !== undefined) {
    const firstId = await firstIdSince(kysely, 'delivery', 'receivedAt', since);
    bounded = bounded.where(idOf(filter), '>=', firstId).where('receivedAt', '>=', since);
  }
  if (until !== undefined) {
    const beyondId = await firstIdBeyond(kysely, 'delivery', 'receivedAt', until);
    bounded = bounded.where(idOf(filter), '<', beyondId).where('receivedAt', '<=', until);
  }
  return bounded;
}

interface DeliveryCount {
  install: string;
  state: DeliveryState;
  count: number;
}

/** Counts by indexes, because rows are as large as their bodies. Only rows of the minutes around `since` are read. */
export async function countDeliveries(kysely: Database['kysely'], since: string): Promise<DeliveryCount[]> {
  const first = await firstIdSince(kysely, 'delivery', 'receivedAt', since);
  const beyond = await firstIdBeyond(kysely, 'delivery', 'receivedAt', since);
  const around = await kysely
    .selectFrom('delivery')
    .select(['install', 'state', kysely.fn.countAll<number>().as('count')])
    .where('id', '>=', first)
    .where('id', '<', beyond)
    .where('receivedAt', '>=', since)
    .groupBy(['install', 'state'])
    .execute();
  return addUp([...around, ...(await countFrom(kysely, beyond))]);
}

const unhandledStates = ['pending', 'ignored', 'failed', 'unprocessable'] as const;

/** Handled deliveries have no index of their own, so they are counted as all minus the others. */
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
  const minus = others.map(({ install, count }) => ({ install, count: -Number(count) }));
  const handled = [...all, ...minus].map((one): DeliveryCount => ({ ...one, state: 'handled' }));
  return [...handled, ...others];
}

/** By install. Steps from install to install in the index, and scans no table. */
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

/** Deliveries of any age that were given up or could not be read. */
export async function countTroubled(kysely: Database['kysely']): Promise<{ state: DeliveryState; count: number }[]> {
  return await kysely
    .selectFrom('delivery')
    .select(['state', kysely.fn.countAll<number>().as('count')])
    // The condition of their index.
    .where('failure', 'is not', null)
    .where('state', 'in', ['failed', 'unprocessable'])
    .groupBy('state')
    .orderBy('state')
    .execute();
}

export type Condition = (eb: ExpressionBuilder<Tables, 'delivery'>) => Expression<SqlBool>;

/** Each condition is written like that of its partial index, so that the index is used. */
export function isIn(state: DeliveryState): Condition {
  if (state === 'pending') return (eb) => eb('nextAttemptAt', 'is not', null);
  const isTrouble = state === 'failed' || state === 'unprocessable';
  const isState = sql<boolean>`state = ${sql.lit(state)}`;
  return (eb) => (isTrouble ? eb.and([isState, eb('failure', 'is not', null)]) : eb.and([isState]));
}
