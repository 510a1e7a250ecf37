import type { Database, Transaction } from '../../db/database.ts';
import { chunksOf } from '../../lib/chunks.ts';
import type { MissedEvent, MissedKind } from './missed-events.ts';

/** The only SQL of what readings have found and no delivery had said before. */

export interface ListedMissed extends MissedEvent {
  id: number;
  install: string;
  foundAt: string;
}

export interface MissedFilter {
  install?: string | undefined;
  kind?: MissedKind | undefined;
  /** Only what was found before: the page before one that was listed. */
  before?: number | undefined;
  limit: number;
}

export interface MissedCount {
  install: string;
  kind: MissedKind;
  month: number;
  /** Of these, what was found in the last day. */
  day: number;
}

const keptMs = 31 * 86_400_000;
const rowsAtOnce = 200;

/** What is older than a month is forgotten. */
export async function addMissed(
  tx: Transaction,
  install: string,
  missed: readonly MissedEvent[],
  foundAt: string,
): Promise<void> {
  if (missed.length === 0) return;
  const oldest = new Date(Date.parse(foundAt) - keptMs).toISOString();
  await tx.deleteFrom('missedEvent').where('install', '=', install).where('foundAt', '<', oldest).execute();
  for (const some of chunksOf(missed, rowsAtOnce)) {
    await tx
      .insertInto('missedEvent')
      .values(some.map((one) => ({ ...one, install, foundAt })))
      .execute();
  }
}

/** The newest first. */
export async function listMissed(
  { kysely }: Pick<Database, 'kysely'>,
  { install, kind, before, limit }: MissedFilter,
): Promise<ListedMissed[]> {
  let query = kysely.selectFrom('missedEvent').selectAll();
  if (install !== undefined) query = query.where('install', '=', install);
  if (kind !== undefined) query = query.where('kind', '=', kind);
  if (before !== undefined) query = query.where('id', '<', before);
  return await query.orderBy('id', 'desc').limit(limit).execute();
}

/** @param since the last month, and the last day of it */
export async function countMissed(
  { kysely }: Pick<Database, 'kysely'>,
  since: { month: string; day: string },
): Promise<MissedCount[]> {
  const rows = await kysely
    .selectFrom('missedEvent')
    .select(['install', 'kind'])
    .select((eb) => [
      eb.fn.countAll<number>().as('month'),
      eb.fn.countAll<number>().filterWhere('foundAt', '>=', since.day).as('day'),
    ])
    .where('foundAt', '>=', since.month)
    .groupBy(['install', 'kind'])
    .orderBy('install')
    .orderBy('kind')
    .execute();
  return rows.map(({ month, day, ...row }) => ({ ...row, month: Number(month), day: Number(day) }));
}
