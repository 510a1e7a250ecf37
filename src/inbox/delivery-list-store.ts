import type { Transaction } from '../db/database.ts';
import { firstIdSince } from '../db/first-id-since.ts';
import type { DeliveryRow } from '../db/tables.ts';
import type { DeliveryState } from '../domain/delivery.ts';
import { isIn } from './due-store.ts';

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

export type ListedDelivery = Omit<DeliveryRow, 'body' | 'nextAttemptAt' | 'traceContext'>;

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
  const { limit } = filter;
  return await (await matching(kysely, filter)).select(listedColumns).orderBy('id', 'desc').limit(limit).execute();
}

export async function listDeliveryIds(kysely: Transaction, filter: DeliveryFilter): Promise<number[]> {
  const rows = await (await matching(kysely, filter)).select('id').orderBy('id', 'desc').limit(filter.limit).execute();
  return rows.map(({ id }) => id);
}

async function matching(kysely: Transaction, { install, state, type, since, until, before, subjects }: DeliveryFilter) {
  let query = kysely.selectFrom('delivery');
  if (install !== undefined) query = query.where('install', '=', install);
  if (state !== undefined) query = query.where(isIn(state));
  if (type !== undefined) query = query.where('eventType', '=', type);
  if (before !== undefined) query = query.where('id', '<', before);
  if (subjects !== undefined) query = query.where('subjectId', 'in', subjects.length === 0 ? [''] : subjects);
  if (since !== undefined) {
    const firstId = await firstIdSince(kysely, 'delivery', 'receivedAt', since);
    query = query.where('id', '>=', firstId).where('receivedAt', '>=', since);
  }
  if (until !== undefined) query = query.where('receivedAt', '<=', until);
  return query;
}

export async function listDeliveriesIn(kysely: Transaction, ids: readonly number[]): Promise<ListedDelivery[]> {
  if (ids.length === 0) return [];
  return await kysely
    .selectFrom('delivery')
    .select(listedColumns)
    .where('id', 'in', ids)
    .orderBy('id', 'desc')
    .execute();
}
