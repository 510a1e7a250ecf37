import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { firstIdBeyond, firstIdSince } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import type { DeliveryState } from '../domain/delivery.ts';
import { isIn } from './delivery-count-store.ts';

/** The SQL of listing deliveries for people, the newest first. */

export interface DeliveryFilter {
  install?: string | undefined;
  state?: DeliveryState | undefined;
  type?: string | undefined;
  /** The first and the last instant at which they were received. */
  since?: string | undefined;
  until?: string | undefined;
  /** Only deliveries with a smaller id: the page before one that was listed. */
  before?: number | undefined;
  /** Only those about one of these contracts, links or installs. */
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
 * The few that are not handled have indexes of their own. A database does not know how few they are, and would rather
 * go through all of one type or install, or all in the order of their ids. It cannot where a column is part of an
 * expression.
 */
function isOfFew({ state }: DeliveryFilter): boolean {
  return state !== undefined && state !== 'handled';
}

function idOf({ state }: DeliveryFilter) {
  // What is in trouble has an index in the order of ids.
  return state === 'pending' || state === 'ignored' ? sql<number>`+id` : sql.ref<number>('id');
}

function textOf(column: 'install' | 'eventType', isWithoutIndex: boolean) {
  return isWithoutIndex ? sql<string>`${sql.ref(column)} || ''` : sql.ref<string>(column);
}

/** So many are read one by one within some hundredths of a second. */
const few = 20_000;

/** Whether another index leads to fewer deliveries than the one on the type. */
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
