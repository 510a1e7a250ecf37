import { sql } from 'kysely';
import type { Transaction } from '../../db/database.ts';
import { jsonRows } from '../../db/json-list.ts';
import type { Row } from '../../db/schema.ts';
import type { Counts, Day } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';
import { countsMost } from './import-store.ts';

// The SQL of imports that do not count yet, or never will.

export type NewImport = Pick<Row<'usageImport'>, 'install' | 'fileName' | 'actor' | 'keptUntil'>;

export type StagedLine = Omit<Row<'usageImportEntry'>, 'importId'>;

export interface ImportSummary {
  people: number;
  contracts: number;
  projects: number;
  days: number;
  firstDay: Day;
  lastDay: Day;
  sums: Counts;
}

export interface ReplacedImport {
  importId: number;
  lines: number;
  sums: Counts;
}

const sumsOf = sql`cast(sum(e.seconds) as bigint) as seconds,
  cast(sum(e.tasks) as bigint) as tasks, cast(sum(e.labels) as bigint) as labels`;

/** @returns its id */
export async function beginStaging(
  tx: Transaction,
  { install, fileName, actor, keptUntil }: NewImport,
): Promise<number> {
  const { id } = await tx
    .insertInto('usageImport')
    .values({ install, fileName, actor, keptUntil, state: 'staging' })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/**
 * Adds lines and extends the time of the import; adds nothing where the import was given up.
 *
 * @returns the lines that were added; a line whose person, work and day is already there is not
 */
export async function addStagedLines(
  ctx: Storage,
  tx: Transaction,
  id: number,
  lines: readonly StagedLine[],
  keptUntil: string,
): Promise<Set<number> | 'given_up'> {
  const { numUpdatedRows } = await tx
    .updateTable('usageImport')
    .set({ keptUntil })
    .where('id', '=', id)
    .where('state', '=', 'staging')
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return 'given_up';
  if (lines.length === 0) return new Set();
  const rows = lines.map(({ line, day, workedOnBy, workedOnId, trainerId, ...counts }) => [
    line,
    day,
    workedOnBy,
    workedOnId,
    trainerId,
    counts.seconds,
    counts.tasks,
    counts.labels,
  ]);
  const added = await sql<{ line: number }>`insert into usage_import_entry
        (import_id, line, day, worked_on_by, worked_on_id, trainer_id, seconds, tasks, labels)
        select ${id}, cast(value ->> 0 as bigint), value ->> 1, value ->> 2, value ->> 3, value ->> 4,
        cast(value ->> 5 as bigint), cast(value ->> 6 as bigint), cast(value ->> 7 as bigint)
        from ${jsonRows(ctx.database, rows)} as given where true
        on conflict (day, worked_on_by, worked_on_id, trainer_id, import_id) do nothing
        returning line`.execute(tx);
  return new Set(added.rows.map(({ line }) => line));
}

export async function keepStagingSummary(
  tx: Transaction,
  id: number,
  lines: number,
  { people, firstDay, lastDay }: ImportSummary,
): Promise<void> {
  const kept = { lines, people, firstDay, lastDay };
  await tx.updateTable('usageImport').set(kept).where('id', '=', id).execute();
}

/** Gives an import up. */
export async function dropStaging(tx: Transaction, id: number): Promise<void> {
  const all = tx.updateTable('usageImport').set({ state: 'dropped' });
  await all.where('id', '=', id).where('state', '=', 'staging').execute();
}

/** Gives up imports that are still staged although their time is over. */
export async function dropStaleStagings(tx: Transaction, now: string): Promise<void> {
  const all = tx.updateTable('usageImport').set({ state: 'dropped' });
  await all.where('state', '=', 'staging').where('keptUntil', '<', now).execute();
}

/** @returns how many lines were cleared; with the last of them the import is gone */
export async function clearStaging(tx: Transaction, id: number, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`delete from usage_import_entry
        where import_id = ${id} and line in (select line from usage_import_entry
          where import_id = ${id} order by line limit ${limit})`.execute(tx);
  const cleared = Number(numAffectedRows);
  if (cleared < limit) await tx.deleteFrom('usageImport').where('id', '=', id).execute();
  return cleared;
}

/** The line of the same person, work and day. */
export async function stagedLineLike(
  ctx: Storage,
  id: number,
  { day, workedOnBy, workedOnId, trainerId }: StagedLine,
): Promise<number> {
  const { line } = await ctx.database.kysely
    .selectFrom('usageImportEntry')
    .select('line')
    .where('importId', '=', id)
    .where('day', '=', day)
    .where('workedOnBy', '=', workedOnBy)
    .where('workedOnId', '=', workedOnId)
    .where('trainerId', '=', trainerId)
    .executeTakeFirstOrThrow();
  return line;
}

export async function summariseStaging(ctx: Storage, id: number): Promise<ImportSummary> {
  const query = sql<Omit<ImportSummary, 'sums'> & Counts>`select
    count(distinct e.trainer_id) as people,
    count(distinct case when e.worked_on_by = 'contract' then e.worked_on_id end) as contracts,
    count(distinct case when e.worked_on_by = 'project' then e.worked_on_id end) as projects,
    count(distinct e.day) as days, min(e.day) as first_day, max(e.day) as last_day, ${sumsOf}
    from usage_import_entry e where e.import_id = ${id}`;
  const { rows } = await query.execute(ctx.database.kysely);
  const [{ seconds, tasks, labels, ...counted }] = rows as [(typeof rows)[number]];
  return { ...counted, sums: { seconds, tasks, labels } };
}

/** What counts now and would be replaced by these lines of a file, both ends included. */
export async function replacedByStaging(ctx: Storage, id: number, from: number, to: number): Promise<ReplacedImport[]> {
  const query = sql<{ importId: number; lines: number } & Counts>`
    select e.import_id, count(*) as lines, ${sumsOf}
    from usage_import_entry mine
    join usage_import me on me.id = mine.import_id
    join usage_import_entry e on e.day = mine.day and e.worked_on_by = mine.worked_on_by
      and e.worked_on_id = mine.worked_on_id and e.trainer_id = mine.trainer_id
    join usage_import i on i.id = e.import_id and i.install = me.install
    where mine.import_id = ${id} and mine.line >= ${from} and mine.line <= ${to}
    and ${countsMost} group by e.import_id order by e.import_id`;
  const { rows } = await query.execute(ctx.database.kysely);
  return rows.map(({ importId, lines, ...sums }) => ({ importId, lines, sums }));
}

export async function listDroppedStagings(ctx: Storage): Promise<number[]> {
  const rows = await ctx.database.kysely
    .selectFrom('usageImport')
    .select('id')
    .where('state', '=', 'dropped')
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}
