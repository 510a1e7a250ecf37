import { sql } from 'kysely';
import type { Database, Transaction } from '../../db/database.ts';
import { jsonTexts } from '../../db/query.ts';
import type { Row } from '../../db/schema.ts';
import type { Storage } from '../../keys/storage.ts';

// The SQL of marks on trainers whose due work has to be worked out again. `markWorkStale` sets them.

/** Marks everyone with work, from their first day on. */
export async function markAllStale(tx: Transaction): Promise<void> {
  await sql`insert into usage_stale (trainer_id, from_day, reopens)
    select trainer_id, '', 0 from usage_day union select trainer_id, '', 0 from usage_import_entry
    where true on conflict (trainer_id) do update set from_day = ''`.execute(tx);
}

/** How many trainers are marked. It counts to `most` and no further. */
export async function countStale({ database }: Storage, most: number): Promise<number> {
  const marked = database.kysely.selectFrom('usageStale').select('trainerId').limit(most).execute();
  return (await marked).length;
}

/** Takes the marks of these trainers away. A later change marks them again. */
export async function takeStale(
  database: Database,
  tx: Transaction,
  trainerIds: readonly string[],
): Promise<Row<'usageStale'>[]> {
  // On PostgreSQL this waits for an instance that works on one of them, and takes the others.
  const taken = tx.deleteFrom('usageStale').where('trainerId', 'in', jsonTexts(database, trainerIds)).returningAll();
  return await taken.execute();
}

/** Some marked trainers, with so many days of work together; at least one, where there is any. */
export async function chooseStale(tx: Transaction, most: { trainers: number; days: number }): Promise<string[]> {
  const query = sql<{ trainerId: string; days: number }>`select trainer_id,
      (select count(*) from usage_day w where w.trainer_id = s.trainer_id and w.day >= s.from_day)
      + (select count(*) from usage_import_entry e where e.trainer_id = s.trainer_id and e.day >= s.from_day) as days
    from usage_stale s order by trainer_id limit ${most.trainers}`;
  let left = most.days;
  const { rows } = await query.execute(tx);
  return rows.flatMap(({ trainerId, days }, index) => {
    left -= Number(days);
    return index === 0 || left >= 0 ? [trainerId] : [];
  });
}

/** Some of those with work, or with something due, in the order of their ids. One with a first total has a day, too. */
export async function listWorkedTrainers(db: Transaction, after: string, limit: number): Promise<string[]> {
  const parts = ['usage_day', 'usage_import_entry', 'usage_due'].map(
    (table) => sql`select trainer_id from (select distinct trainer_id from ${sql.raw(table)}
      where trainer_id > ${after} order by trainer_id limit ${limit}) as ${sql.raw(`of_${table}`)}`,
  );
  const query = sql<{ trainerId: string }>`${sql.join(parts, sql` union `)} order by trainer_id limit ${limit}`;
  return (await query.execute(db)).rows.map(({ trainerId }) => trainerId);
}
