import { sql, type Updateable } from 'kysely';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { jsonRows, jsonTexts } from '../../db/json-list.ts';
import type { Row, Tables } from '../../db/schema.ts';
import type { Day } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';
import { dayKey } from '../due/due-store.ts';
import { type LedgerRow, toLedgerRow } from '../report/ledger-store.ts';

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

/** @returns whether it was in that state */
export async function changeImport(
  tx: Transaction,
  id: number,
  state: Row<'usageImport'>['state'],
  change: Updateable<Tables['usageImport']>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('usageImport')
    .set(change)
    .where('id', '=', id)
    .where('state', '=', state)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Gives up an import that does not count yet. */
export async function dropImport({ database }: Storage, id: number): Promise<void> {
  await inTransaction(database, (tx) => changeImport(tx, id, 'writing', { state: 'dropped' }));
}

/** Gives up the imports whose time is over before they counted. */
export async function dropExpiredImports(tx: Transaction, now: string): Promise<void> {
  const all = tx.updateTable('usageImport').set({ state: 'dropped' });
  await all.where('state', '=', 'writing').where('keptUntil', '<', now).execute();
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
  await sql`insert into usage_import_trainer (import_id, trainer_id, first_day)
    select import_id, trainer_id, min(day) from usage_import_entry
    where import_id = ${id} and line >= ${lines[0]?.line ?? 0} and line <= ${lines.at(-1)?.line ?? 0}
    group by import_id, trainer_id
    on conflict (import_id, trainer_id) do update set first_day = excluded.first_day
    where excluded.first_day < usage_import_trainer.first_day`.execute(tx);
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
export async function listTrainers(
  db: Transaction,
  importId: number,
): Promise<Pick<Row<'usageImportTrainer'>, 'trainerId' | 'firstDay'>[]> {
  const all = db.selectFrom('usageImportTrainer').where('importId', '=', importId);
  return await all.select(['trainerId', 'firstDay']).orderBy('trainerId').execute();
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

/** What was reported of these trainers on these contracts since a day, by the key of the day. */
export async function loadReported(
  { database }: Storage,
  install: string,
  { contractIds, trainerIds, fromDay }: { contractIds: readonly string[]; trainerIds: readonly string[]; fromDay: Day },
): Promise<Map<string, LedgerRow>> {
  const rows = await database.kysely
    .selectFrom('usageLedger')
    .selectAll()
    .where('install', '=', install)
    .where('contractId', 'in', jsonTexts(database, [...new Set(contractIds)]))
    .where('trainerId', 'in', jsonTexts(database, trainerIds))
    .where('day', '>=', fromDay)
    .execute();
  return new Map(rows.map((row) => [dayKey(row), toLedgerRow(row)]));
}

export async function listDroppedImports(database: Database): Promise<number[]> {
  const all = database.kysely.selectFrom('usageImport').select('id').where('state', '=', 'dropped');
  return (await all.orderBy('id').execute()).map(({ id }) => id);
}

/** @returns how many lines were cleared; with the last of them the import is gone */
export async function clearLines(tx: Transaction, importId: number, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`delete from usage_import_entry
    where import_id = ${importId} and line in (select line from usage_import_entry
      where import_id = ${importId} order by line limit ${limit})`.execute(tx);
  const cleared = Number(numAffectedRows);
  if (cleared < limit) {
    await tx.deleteFrom('usageImportTrainer').where('importId', '=', importId).execute();
    await tx.deleteFrom('usageImport').where('id', '=', importId).execute();
  }
  return cleared;
}
