import { sql, type Updateable } from 'kysely';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { jsonRows, jsonTexts } from '../../db/query.ts';
import type { Row, Tables } from '../../db/schema.ts';
import type { Day } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';

// The SQL of an import from its first line until it counts or is cleared.

export type NewImport = Pick<Row<'usageImport'>, 'install' | 'fileName' | 'actor' | 'keptUntil'>;

export type ImportLine = Omit<Row<'usageImportEntry'>, 'importId'>;

export interface ImportSummary {
  lines: number;
  people: number;
  /** Null where no line was written. */
  firstDay: Day | null;
  lastDay: Day | null;
}

/** @returns its id */
export async function createImport(ctx: Storage, of: NewImport): Promise<number> {
  return await inTransaction(ctx.database, async (tx) => {
    const added = tx.insertInto('usageImport').values({ ...of, state: 'writing' });
    return (await added.returning('id').executeTakeFirstOrThrow()).id;
  });
}

/**
 * @param keptAt an import that is not kept until then is not changed
 * @returns whether it was in that state
 */
export async function changeImport(
  tx: Transaction,
  id: number,
  { state, keptAt = '' }: { state: Row<'usageImport'>['state']; keptAt?: string },
  change: Updateable<Tables['usageImport']>,
): Promise<boolean> {
  const of = tx.updateTable('usageImport').set(change).where('id', '=', id).where('state', '=', state);
  const { numUpdatedRows } = await of.where('keptUntil', '>=', keptAt).executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Gives up an import that does not count yet. */
export async function dropImport({ database }: Storage, id: number): Promise<void> {
  await inTransaction(database, (tx) => changeImport(tx, id, { state: 'writing' }, { keptUntil: '' }));
}

/**
 * Adds lines to an import that does not count yet.
 *
 * @returns the lines that were added; a line whose person, work and day is already there is not
 */
export async function addLines(
  { database }: Storage,
  tx: Transaction,
  id: number,
  lines: readonly ImportLine[],
): Promise<Set<number>> {
  const rows = lines.map((one) => [
    one.line,
    one.day,
    one.workedOnBy,
    one.workedOnId,
    one.trainerId,
    one.seconds,
    one.tasks,
    one.labels,
  ]);
  const added = await sql<{ line: number }>`insert into usage_import_entry
    (import_id, line, day, worked_on_by, worked_on_id, trainer_id, seconds, tasks, labels)
    select ${id}, cast(value ->> 0 as bigint), value ->> 1, value ->> 2, value ->> 3, value ->> 4,
    cast(value ->> 5 as bigint), cast(value ->> 6 as bigint), cast(value ->> 7 as bigint)
    from ${jsonRows(database, rows)} as given where true
    on conflict (day, worked_on_by, worked_on_id, trainer_id, import_id) do nothing
    returning line`.execute(tx);
  return new Set(added.rows.map(({ line }) => line));
}

/** The line of the same person, work and day. */
export async function findSameLine(
  { database }: Storage,
  importId: number,
  { day, workedOnBy, workedOnId, trainerId }: ImportLine,
): Promise<number> {
  const { line } = await database.kysely
    .selectFrom('usageImportEntry')
    .select('line')
    .where((eb) => eb.and({ importId, day, workedOnBy, workedOnId, trainerId }))
    .executeTakeFirstOrThrow();
  return line;
}

export async function summariseImport(db: Transaction, importId: number): Promise<ImportSummary> {
  const query = sql<ImportSummary>`select count(*) as lines, count(distinct trainer_id) as people,
    min(day) as first_day, max(day) as last_day from usage_import_entry where import_id = ${importId}`;
  const [{ lines, people, firstDay, lastDay }] = (await query.execute(db)).rows as [ImportSummary];
  return { lines: Number(lines), people: Number(people), firstDay, lastDay };
}

/** The trainers of an import, and the first day of each. */
export async function listTrainers(db: Transaction, id: number): Promise<{ trainerId: string; fromDay: Day }[]> {
  return await db
    .selectFrom('usageImportEntry')
    .select((eb) => ['trainerId', eb.fn.min('day').as('fromDay')])
    .where('importId', '=', id)
    .groupBy('trainerId')
    .orderBy('trainerId')
    .execute();
}

export async function listLines(
  { database }: Storage,
  importId: number,
  { trainerIds, fromDay }: { trainerIds: readonly string[]; fromDay: Day },
): Promise<Pick<ImportLine, 'line' | 'trainerId' | 'day' | 'workedOnBy' | 'workedOnId'>[]> {
  return await database.kysely
    .selectFrom('usageImportEntry')
    .select(['line', 'trainerId', 'day', 'workedOnBy', 'workedOnId'])
    .where('trainerId', 'in', jsonTexts(database, trainerIds))
    .where('day', '>=', fromDay)
    // Without the sign, SQLite would read all lines of the import instead of those of the trainers.
    .where(sql`+import_id`, '=', importId)
    .execute();
}

/** Imports that were given up, or whose time was over before they counted. */
export async function listDroppedImports(database: Database, now: string): Promise<number[]> {
  const all = database.kysely.selectFrom('usageImport').select('id').where('state', '=', 'writing');
  return (await all.where('keptUntil', '<', now).orderBy('id').execute()).map(({ id }) => id);
}

/** @returns how many lines were cleared; with the last of them the import is gone */
export async function clearLines(tx: Transaction, importId: number, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`delete from usage_import_entry
    where import_id = ${importId} and line in (select line from usage_import_entry
      where import_id = ${importId} order by line limit ${limit})`.execute(tx);
  const cleared = Number(numAffectedRows);
  if (cleared < limit) await tx.deleteFrom('usageImport').where('id', '=', importId).execute();
  return cleared;
}
