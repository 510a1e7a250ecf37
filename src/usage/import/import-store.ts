import { sql, type Updateable } from 'kysely';
import type { Storage } from '../../context.ts';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { hasChanged, jsonRows, jsonTexts } from '../../db/query.ts';
import type { Row, Tables } from '../../db/schema.ts';
import { type Counts, countNames, type Day, type Observation, toCounts, type WorkedOn } from '../../domain/usage.ts';
import { compareTexts } from '../../lib/text.ts';
import { differs, sameDay } from '../due/due-store.ts';
import type { WorkSpan } from '../read/work-store.ts';

// The SQL of imports. Their lines are written in chunks, and one update makes all of them count.

export type ListedImport = Row<'usageImport'> & {
  state: 'counted' | 'undone';
  countedAt: string;
  people: number;
  firstDay: Day;
  lastDay: Day;
};

/** A line with the columns of its import. */
export interface ImportedEntry extends Omit<Row<'usageImportEntry'>, 'line'> {
  install: string;
  isUndone: boolean;
  /** When the import began to count. */
  countedAt: string;
}

/** @param includesImport an import that does not count yet, to be treated as if it had just begun to */
export async function importedObservations(
  database: Database,
  db: Transaction,
  { trainerIds, fromDay }: WorkSpan,
  includesImport = 0,
): Promise<Observation[]> {
  const rows = await db
    .selectFrom('usageImportEntry')
    .innerJoin('usageImport', 'usageImport.id', 'usageImportEntry.importId')
    .selectAll('usageImportEntry')
    .select(['install', 'state', 'countedAt', 'keptUntil'])
    .where('trainerId', 'in', jsonTexts(database, trainerIds))
    .where('day', '>=', fromDay)
    .where((eb) => eb.or([eb('state', 'in', ['counted', 'undone']), eb('usageImport.id', '=', includesImport)]))
    .execute();
  // `keptUntil` lies in the future, so an import that does not count yet is the latest.
  return layerEntries(
    rows.map((row) => ({ ...row, isUndone: row.state === 'undone', countedAt: row.countedAt ?? row.keptUntil })),
  );
}

/**
 * Pure: for each trainer, work and day, each count is that of the latest import with this count. A count that only
 * undone imports had is taken back.
 */
export function layerEntries(entries: readonly ImportedEntry[]): Observation[] {
  const byWork = Map.groupBy(entries, ({ install, workedOnBy, workedOnId, trainerId, day }) =>
    JSON.stringify([install, workedOnBy, workedOnId, trainerId, day]),
  );
  return [...byWork.values()].flatMap((ofWork) => {
    const latestFirst = ofWork.toSorted((a, b) => compareTexts(b.countedAt, a.countedAt) || b.importId - a.importId);
    const [counted, undone] = [latestFirst.filter(isCounted), latestFirst.filter(({ isUndone }) => isUndone)];
    const counts = toCounts((name) => counted.find((one) => one[name] !== null)?.[name] ?? null);
    const takenBack = toCounts((name) =>
      counts[name] === null && undone.some((one) => one[name] !== null) ? 0 : null,
    );
    return [
      // An operator may have assigned all of it to a contract that gets nothing without that.
      ...toObservations(
        counted,
        toCounts((name) => counts[name] ?? takenBack[name]),
      ),
      ...toObservations(undone, takenBack).map((one) => ({ ...one, isTakenBack: true })),
    ];
  });
}

function isCounted({ isUndone }: ImportedEntry): boolean {
  return !isUndone;
}

/** One observation with the source of the latest entry that has one of the counts; none if no entry has. */
function toObservations(latestFirst: readonly ImportedEntry[], counts: Counts): Observation[] {
  const latest = latestFirst.find((one) => countNames.some((name) => counts[name] !== null && one[name] !== null));
  if (latest === undefined) return [];
  const { importId, trainerId, day, countedAt } = latest;
  return [{ source: sourceOf(importId), workedOn: toWorkedOn(latest), trainerId, day, counts, seenAt: countedAt }];
}

export function sourceOf(importId: number): string {
  return `import:${importId}`;
}

export function toWorkedOn({
  install,
  workedOnBy,
  workedOnId,
}: Pick<ImportedEntry, 'install' | 'workedOnBy' | 'workedOnId'>): WorkedOn {
  return workedOnBy === 'contract'
    ? { by: 'contract', install, contractId: workedOnId }
    : { by: 'project', install, externalProjectId: workedOnId };
}

/** Imports that count or counted, latest first. */
export async function listImports(
  { database }: Storage,
  { install, limit }: { install?: string | undefined; limit: number },
): Promise<ListedImport[]> {
  const all = selectListed(database.kysely).orderBy('countedAt', 'desc').orderBy('id', 'desc').limit(limit);
  return await (install === undefined ? all : all.where('install', '=', install)).execute();
}

/** An import that counts or counted. */
export async function findImport(db: Transaction, id: number): Promise<ListedImport | undefined> {
  return await selectListed(db).where('id', '=', id).executeTakeFirst();
}

function selectListed(db: Transaction) {
  return db.selectFrom('usageImport').selectAll().where('state', 'in', ['counted', 'undone']).$castTo<ListedImport>();
}

/** Days of an import that changed after their last report, where an operator dismissed the change. */
export async function listDismissedDays(db: Transaction, importId: number, limit: number): Promise<Day[]> {
  const query = sql<{ day: Day }>`select distinct d.day from usage_import i
    join usage_import_entry e on e.import_id = i.id
    join usage_due d on d.install = i.install and d.trainer_id = e.trainer_id and d.day = e.day
    join usage_ledger l on ${sameDay}
    where i.id = ${importId} and d.is_open = 0 and l.closed_at is not null and ${differs}
    order by d.day limit ${limit}`;
  return (await query.execute(db)).rows.map(({ day }) => day);
}

export type NewImport = Pick<Row<'usageImport'>, 'install' | 'fileName' | 'actor' | 'keptUntil'>;

export type ImportLine = Omit<Row<'usageImportEntry'>, 'importId'>;

export interface ImportSummary {
  lines: number;
  people: number;
  /** Null if no line was written. */
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

/** @returns whether it was changed: it was in `state`, and had not expired at `keptAt` */
export async function changeImport(
  tx: Transaction,
  id: number,
  { state, keptAt = '' }: { state: Row<'usageImport'>['state']; keptAt?: string },
  change: Updateable<Tables['usageImport']>,
): Promise<boolean> {
  const update = tx.updateTable('usageImport').set(change).where('id', '=', id).where('state', '=', state);
  return await hasChanged(update.where('keptUntil', '>=', keptAt));
}

/** Drops an import that does not count yet. */
export async function dropImport({ database }: Storage, id: number): Promise<void> {
  await inTransaction(database, (tx) => changeImport(tx, id, { state: 'writing' }, { keptUntil: '' }));
}

/**
 * Adds lines to an import that does not count yet.
 *
 * @returns the added lines, without those whose person, work and day it already had
 */
export async function addLines(
  { database }: Storage,
  tx: Transaction,
  id: number,
  lines: readonly ImportLine[],
): Promise<Set<number>> {
  const rows = lines.map(({ line, day, workedOnBy, workedOnId, trainerId, seconds, tasks, labels }) => {
    return [line, day, workedOnBy, workedOnId, trainerId, seconds, tasks, labels];
  });
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
  return (await query.execute(db)).rows[0] as ImportSummary;
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
  { trainerIds, fromDay }: WorkSpan,
): Promise<Pick<ImportLine, 'line' | 'trainerId' | 'day' | 'workedOnBy' | 'workedOnId'>[]> {
  return await database.kysely
    .selectFrom('usageImportEntry')
    .select(['line', 'trainerId', 'day', 'workedOnBy', 'workedOnId'])
    .where('trainerId', 'in', jsonTexts(database, trainerIds))
    .where('day', '>=', fromDay)
    // Without the sign, SQLite would read all lines of the import.
    .where(sql`+import_id`, '=', importId)
    .execute();
}

/** Imports that were dropped, or that expired before they counted. */
export async function listDroppedImports(database: Database, now: string): Promise<number[]> {
  const all = database.kysely.selectFrom('usageImport').select('id').where('state', '=', 'writing');
  return (await all.where('keptUntil', '<', now).orderBy('id').execute()).map(({ id }) => id);
}

/** Deletes the import with its last line. @returns how many lines were cleared */
export async function clearLines(tx: Transaction, importId: number, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`delete from usage_import_entry
    where import_id = ${importId} and line in (select line from usage_import_entry
      where import_id = ${importId} order by line limit ${limit})`.execute(tx);
  const cleared = Number(numAffectedRows);
  if (cleared < limit) await tx.deleteFrom('usageImport').where('id', '=', importId).execute();
  return cleared;
}
