import type { Database } from '../db/database.ts';
import { firstIdSince } from '../db/first-id-since.ts';
import type { DeliveryState } from '../domain/delivery.ts';

/** The SQL of how many deliveries there were, and what became of them. */

export async function countDeliveries(
  kysely: Database['kysely'],
  since: string,
): Promise<{ install: string; state: DeliveryState; count: number }[]> {
  return await kysely
    .selectFrom('delivery')
    .select(['install', 'state', kysely.fn.countAll<number>().as('count')])
    .where('id', '>=', await firstIdSince(kysely, 'delivery', 'receivedAt', since))
    .where('receivedAt', '>=', since)
    .groupBy(['install', 'state'])
    .orderBy('install')
    .orderBy('state')
    .execute();
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
