import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import type { DeliveryState } from '../domain/delivery.ts';
import type { ReceiptOutcome } from '../domain/membership.ts';

/** The SQL of `gangway status`: what happened since an instant, and what was left over. */
export interface StatusStore {
  deliveries(since: string): Promise<{ install: string; state: DeliveryState; count: number }[]>;
  /** Deliveries of any age that were given up, or could not be read. */
  troubledDeliveries(): Promise<{ state: DeliveryState; count: number }[]>;
  receipts(since: string): Promise<{ tool: string; outcome: ReceiptOutcome; count: number }[]>;
  /** Removals that were let pass, by their grounds. */
  removals(since: string): Promise<{ install: string; clearance: string; count: number }[]>;
}

export function createStatusStore({ kysely }: Database): StatusStore {
  return {
    deliveries: async (since) =>
      await kysely
        .selectFrom('delivery')
        .select(['install', 'state', kysely.fn.countAll<number>().as('count')])
        .where('id', '>=', await firstIdSince(kysely, 'delivery', 'receivedAt', since))
        .where('receivedAt', '>=', since)
        .groupBy(['install', 'state'])
        .orderBy('install')
        .orderBy('state')
        .execute(),

    troubledDeliveries: () =>
      kysely
        .selectFrom('delivery')
        .select(['state', kysely.fn.countAll<number>().as('count')])
        // By that they are found among millions that are not in trouble.
        .where('failure', 'is not', null)
        .where('state', 'in', ['failed', 'unprocessable'])
        .groupBy('state')
        .orderBy('state')
        .execute(),

    receipts: async (since) =>
      await kysely
        .selectFrom('receipt')
        .innerJoin('membership', 'membership.id', 'receipt.membershipId')
        .select(['tool', 'outcome', kysely.fn.countAll<number>().as('count')])
        .where('receipt.id', '>=', await firstIdSince(kysely, 'receipt', 'createdAt', since))
        .where('createdAt', '>=', since)
        .groupBy(['tool', 'outcome'])
        .orderBy('tool')
        .orderBy('outcome')
        .execute(),

    removals: async (since) =>
      await kysely
        .selectFrom('removal')
        .select(['install', 'clearance', kysely.fn.countAll<number>().as('count')])
        .where('id', '>=', await firstIdSince(kysely, 'removal', 'clearedAt', since))
        .where('clearedAt', '>=', since)
        .groupBy(['install', 'clearance'])
        .orderBy('install')
        .orderBy('clearance')
        .execute(),
  };
}

/** Instances whose clocks differ, or whose commits overtake each other, number their rows crosswise. */
const disorderMs = 60_000;

/**
 * An id that everything since an instant is at or above. Ids grow with time, so it is found by
 * bisection: these tables hold millions of rows and have no index by time.
 */
async function firstIdSince(
  kysely: Database['kysely'],
  table: 'delivery' | 'receipt' | 'removal',
  column: string,
  since: string,
): Promise<number> {
  const from = sql.table(table);
  const margin = new Date(Date.parse(since) - disorderMs).toISOString();
  const ends = await sql<{ least: number | null; greatest: number | null }>`
    select (select min(id) from ${from}) as least, (select max(id) from ${from}) as greatest
  `.execute(kysely);
  const { least = null, greatest = null } = ends.rows[0] ?? {};
  // Everything up to `older` is too old, and nothing from `young` on.
  let [older, young] = [(least ?? 1) - 1, (greatest ?? 0) + 1];
  while (young - older > 1) {
    const middle = Math.floor((older + young) / 2);
    const { rows } = await sql<{ id: number; at: string }>`
      select id, ${sql.ref(column)} as at from ${from}
        where id >= ${middle} order by id limit 1`.execute(kysely);
    const [row] = rows;
    if (row === undefined || row.at >= margin) young = middle;
    else older = row.id;
  }
  return young;
}
