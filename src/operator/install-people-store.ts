import type { Database } from '../db/database.ts';
import { jsonTexts } from '../db/query.ts';
import type { Storage } from '../keys/storage.ts';

/** The SQL of the people of each install: those who do not go on without an operator, and their names. */

const stuckStates = ['failed', 'waiting_email', 'orphaned'] as const;

export interface StuckPeople {
  state: (typeof stuckStates)[number];
  install: string;
  tool: string;
  count: number;
  /** Since when the first of them is in that state. */
  since: string;
}

/** A membership counts for each install that is a reason for it. */
export async function countStuckPeople({ kysely }: Database): Promise<StuckPeople[]> {
  const rows = await kysely
    .selectFrom('membership')
    .leftJoin('reason', 'reason.membershipId', 'membership.id')
    .select((eb) => [
      eb.fn.coalesce('reason.install', 'membership.install').as('install'),
      'state',
      'tool',
      eb.fn.count<number>('membership.id').distinct().as('count'),
      eb.fn.min('membership.updatedAt').as('since'),
    ])
    .where('state', 'in', stuckStates)
    .groupBy((eb) => [eb.fn.coalesce('reason.install', 'membership.install'), 'state', 'tool'])
    .$narrowType<{ state: StuckPeople['state'] }>()
    .execute();
  return rows.map((row) => ({ ...row, count: Number(row.count) }));
}

/** Rows with the names of their trainers. */
export async function nameEach<R extends { trainerId: string }>({ database }: Storage, rows: readonly R[]) {
  const names = await nameTrainers(database, [...new Set(rows.map(({ trainerId }) => trainerId))]);
  return rows.map((row): R & { displayName: string | null } => ({
    ...row,
    displayName: names.get(row.trainerId) ?? null,
  }));
}

/** The names of trainers, as far as an install knows them. */
async function nameTrainers(database: Database, trainerIds: readonly string[]): Promise<Map<string, string>> {
  const people = await database.kysely
    .selectFrom('person')
    .select((eb) => ['trainerId', eb.fn.max('displayName').as('name')])
    .where('trainerId', 'in', jsonTexts(database, trainerIds))
    .where('displayName', 'is not', null)
    .groupBy('trainerId')
    .execute();
  return new Map(people.map(({ trainerId, name }) => [trainerId, name ?? trainerId]));
}
