import type { Database } from '../db/database.ts';
import { firstIdSince } from '../db/first-id-since.ts';
import type { DeliveryState } from '../domain/delivery.ts';
import type { ReceiptOutcome } from '../domain/membership.ts';

/** The SQL of `gangway status`: what happened since an instant, and what is left over. */
export interface StatusStore {
  deliveries(since: string): Promise<{ install: string; state: DeliveryState; count: number }[]>;
  /** Deliveries of any age that were given up, or could not be read. */
  troubledDeliveries(): Promise<{ state: DeliveryState; count: number }[]>;
  receipts(since: string): Promise<{ tool: string; outcome: ReceiptOutcome; count: number }[]>;
  /** Removals that the brake released, by reason. */
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
        // By this condition they are found among millions that are not in trouble.
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
