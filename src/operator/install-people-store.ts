import { selectWaiting } from '../converge/tool-trouble-store.ts';
import type { Database } from '../db/database.ts';
import { jsonTexts } from '../db/json-list.ts';
import type { Instant } from '../domain/evidence.ts';

/** The SQL of how many people of each install do not get in, or out, as they should, and of their names. */

export interface PeopleInTrouble {
  install: string;
  /** `late`: the call to the tool has been due for a while. */
  why: 'failed' | 'waiting_email' | 'late';
  count: number;
}

/** A membership counts for each install that is a reason for it. */
export async function countPeopleInTrouble(database: Database, lateSince: Instant): Promise<PeopleInTrouble[]> {
  const { kysely } = database;
  const refused = await kysely
    .selectFrom('membership')
    .leftJoin('reason', 'reason.membershipId', 'membership.id')
    .select((eb) => [
      eb.fn.coalesce('reason.install', 'membership.install').as('install'),
      'state',
      eb.fn.count<number>('membership.id').distinct().as('count'),
    ])
    .where('state', 'in', ['failed', 'waiting_email'])
    .groupBy((eb) => [eb.fn.coalesce('reason.install', 'membership.install'), 'state'])
    .execute();
  const late = await kysely
    .selectFrom(selectWaiting(database).as('waiting'))
    .leftJoin('reason', 'reason.membershipId', 'waiting.id')
    .select((eb) => [
      eb.fn.coalesce('reason.install', 'waiting.install').as('install'),
      eb.fn.count<number>('waiting.id').distinct().as('count'),
    ])
    .where('state', '!=', 'failed')
    .where('since', '<=', lateSince)
    .groupBy((eb) => eb.fn.coalesce('reason.install', 'waiting.install'))
    .execute();
  return [
    ...refused.map(({ install, state, count }) => ({
      install,
      why: state as 'failed' | 'waiting_email',
      count: Number(count),
    })),
    ...late.map(({ install, count }) => ({ install, why: 'late' as const, count: Number(count) })),
  ];
}

/** The names of trainers, as far as an install knows them. */
export async function nameTrainers(database: Database, trainerIds: readonly string[]): Promise<Map<string, string>> {
  const people = await database.kysely
    .selectFrom('person')
    .select((eb) => ['trainerId', eb.fn.max('displayName').as('name')])
    .where('trainerId', 'in', jsonTexts(database, trainerIds))
    .where('displayName', 'is not', null)
    .groupBy('trainerId')
    .execute();
  return new Map(people.map(({ trainerId, name }) => [trainerId, name ?? trainerId]));
}
