import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { Storage } from '../../context.ts';
import type { Database, Transaction } from '../../db/database.ts';
import { inParts, jsonTexts, keyIn, upsert } from '../../db/query.ts';
import type { Row } from '../../db/schema.ts';
import { readSetting, writeSetting } from '../../db/setting-store.ts';
import { type Counts, countNames, type Day } from '../../domain/usage.ts';
import type { WorkSpan } from '../read/work-store.ts';
import { type DayKey, keyColumns, type LedgerRow, toLedgerRow } from '../report/ledger-store.ts';

// The SQL of what is due, alone and beside what was answered, and of trainers for whom it is stale.

export interface StoredDue extends Omit<Row<'usageDue'>, keyof Counts> {
  counts: Counts;
}

/** A day that is due or was reported. */
export interface DueAndLedger extends DayKey {
  due: StoredDue | undefined;
  ledger: LedgerRow | undefined;
}

export interface DayFilter {
  install: string;
  contractIds?: readonly string[] | undefined;
  /** Inclusive. */
  from?: Day | undefined;
  to?: Day | undefined;
}

export async function loadDueOf(
  database: Database,
  db: Transaction,
  { trainerIds, fromDay }: WorkSpan,
): Promise<StoredDue[]> {
  const rows = await db
    .selectFrom('usageDue')
    .selectAll()
    .where('trainerId', 'in', jsonTexts(database, trainerIds))
    .where('day', '>=', fromDay)
    .execute();
  return rows.map(toDue);
}

function toDue({ seconds, tasks, labels, ...row }: Row<'usageDue'>): StoredDue {
  return { ...row, counts: { seconds, tasks, labels } };
}

/** Stores what is due, and opens the days for the next run. */
export async function saveDue(tx: Transaction, days: readonly Omit<StoredDue, 'isOpen'>[]): Promise<void> {
  const rows = days.map(({ install, contractId, trainerId, day, timeZone, counts, isPartial }) => {
    return { install, contractId, trainerId, day, timeZone, isPartial, ...counts, isOpen: true };
  });
  await upsert(tx, 'usageDue', keyColumns, rows);
}

export async function dropDue(tx: Transaction, days: readonly DayKey[]): Promise<void> {
  for (const part of inParts(days)) await tx.deleteFrom('usageDue').where(keyIn(keyColumns, part)).execute();
}

/** Opens a day for the next run, or closes it for all. */
export async function setOpen(tx: Transaction, { install, contractId, trainerId, day }: DayKey, isOpen: boolean) {
  const update = tx.updateTable('usageDue').set({ isOpen });
  await update.where((eb) => eb.and({ install, contractId, trainerId, day })).execute();
}

export const sameDay = sql`l.install = d.install and l.contract_id = d.contract_id and l.trainer_id = d.trainer_id and l.day = d.day`;
/** A count that no source has does not differ: it is not sent, so the marketplace keeps its own. */
export const differs = anyOf((name) => sql`d.${name} is not null and (l.${name} is null or d.${name} <> l.${name})`);
export const isCounted = anyOf((name) => sql`coalesce(d.${name}, 0) <> 0`);
/** The same as `isDoubted` in `ledger-day.ts`. */
const isDoubted = sql`(l.doubted_until is not null and l.sent_at < l.doubted_until)`;
/** Whether the stored due work may be out of date. */
const isStale = sql`(exists (select 1 from usage_stale s where s.trainer_id = d.trainer_id)
  or exists (select 1 from derivation v where v.trainer_id = d.trainer_id))`;

/** Whether days are left out for now because the memberships of their trainers are being derived again. */
export async function isDeriving({ database }: Storage): Promise<boolean> {
  const { rows } = await sql`select 1 from derivation v
    where exists (select 1 from usage_due d where d.trainer_id = v.trainer_id and d.is_open = 1) limit 1`.execute(
    database.kysely,
  );
  return rows.length > 0;
}

function anyOf(condition: (name: RawBuilder<unknown>) => RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(${sql.join(
    countNames.map((name) => sql`(${condition(sql.raw(name))})`),
    sql` or `,
  )})`;
}

/**
 * The days that a run may have to send, contract by contract. Left out are days that the marketplace has as they are
 * due, unless they have to be sent for the last time.
 *
 * @param leavingBefore earlier days are sent for the last time
 */
export async function* listOpenDays(
  ctx: Storage,
  filter: DayFilter,
  leavingBefore: Day,
): AsyncGenerator<{ due: StoredDue; ledger: LedgerRow | undefined }[]> {
  const isToDo = sql`d.is_open = 1 and not ${isStale} and (
    (l.state is null and ${isCounted}) or l.state <> 'answered' or ${isDoubted}
    or l.lowering_held_at is not null or (l.closed_at is null and l.day < ${leavingBefore}) or ${differs})`;
  for await (const page of pages(ctx, filter, 'd', isToDo)) {
    yield page.flatMap(({ due, ledger }) => (due === undefined ? [] : [{ due, ledger }]));
  }
}

/** Every day that is due or was reported: first the due ones, then the others, each contract by contract. */
export async function* listDays(ctx: Storage, filter: DayFilter): AsyncGenerator<DueAndLedger[]> {
  yield* pages(ctx, filter, 'd', sql`true`);
  yield* pages(ctx, filter, 'l', sql`d.day is null`);
}

/** Days whose lowering is held, however old, and days that were lowered since an instant. */
export async function listLowered(ctx: Storage, install: string, since: string): Promise<DueAndLedger[]> {
  const ofInstall = sql`${selectFrom('l')} where l.install = ${install}`;
  // Each part has an index of its own. With an `or`, SQLite reads all days of the install. By day, contract and trainer.
  const query = sql<JoinedRow>`${ofInstall} and l.lowering_held_at is not null
    union ${ofInstall} and l.lowered_at >= ${since} order by 4, 2, 3`;
  return (await query.execute(ctx.database.kysely)).rows.map(toDays);
}

/** How many days are due, or were reported if these are more, up to `most`. */
export async function countDays(ctx: Storage, filter: DayFilter, most: number): Promise<number> {
  const countIn = async (table: 'usage_due' | 'usage_ledger', alias: 'd' | 'l') => {
    const condition = toCondition(ctx, alias, filter, undefined, filter.contractIds === undefined);
    const { rows } = await sql<{ days: number }>`select count(*) as days from (
      select 1 from ${sql.table(table)} ${sql.ref(alias)} where ${condition} limit ${most}) as counted`.execute(
      ctx.database.kysely,
    );
    return rows[0]?.days ?? 0;
  };
  return Math.max(await countIn('usage_due', 'd'), await countIn('usage_ledger', 'l'));
}

/** Closes days that left the look-back and that the marketplace has as they are due. No run reads them again. */
export async function closeSettledDays(tx: Transaction, install: string, before: Day): Promise<void> {
  if (before > ((await readSetting(tx, 'usage_closed_before')) ?? '')) {
    await writeSetting(tx, 'usage_closed_before', before);
  }
  await sql`update usage_due as d set is_open = 0
    where d.install = ${install} and d.day < ${before} and d.is_open = 1 and d.is_partial = 0 and (
      exists (select 1 from usage_ledger l where ${sameDay} and l.closed_at is not null and l.state = 'answered'
        and not ${differs} and not ${isDoubted})
      or (not ${isCounted} and not exists (select 1 from usage_ledger l where ${sameDay})))`.execute(tx);
}

const pageSize = 2000;

interface JoinedRow extends Row<'usageLedger'> {
  isPartial: boolean | null;
  isOpen: boolean;
  timeZone: string;
  dueSeconds: number | null;
  dueTasks: number | null;
  dueLabels: number | null;
}

/** Which of the two tables has every day that is listed: the due days, or the ledger. */
type Listed = 'd' | 'l';

/** Page by page, because one query for everything would block the thread. */
async function* pages(
  ctx: Storage,
  filter: DayFilter,
  listed: Listed,
  condition: RawBuilder<unknown>,
): AsyncGenerator<DueAndLedger[]> {
  const order = ['contract_id', 'trainer_id', 'day'].map((name) => sql.ref(`${listed}.${name}`));
  for (let last: JoinedRow | undefined; ; ) {
    const query = sql<JoinedRow>`${selectFrom(listed)} where ${toCondition(ctx, listed, filter, last)} and ${condition}
      order by ${sql.join(order)} limit ${pageSize}`;
    const { rows } = await query.execute(ctx.database.kysely);
    if (rows.length > 0) yield rows.map(toDays);
    if (rows.length < pageSize) return;
    last = rows.at(-1);
    await nextTurn();
  }
}

function selectFrom(listed: Listed): RawBuilder<unknown> {
  const key = ['install', 'contract_id', 'trainer_id', 'day'].map(
    (name) => sql`${sql.ref(`${listed}.${name}`)} as ${sql.ref(name)}`,
  );
  const [from, beside] = listed === 'd' ? ['usage_due d', 'usage_ledger l'] : ['usage_ledger l', 'usage_due d'];
  return sql`select ${sql.join(key)}, d.time_zone, d.is_partial, d.is_open,
      d.seconds as due_seconds, d.tasks as due_tasks, d.labels as due_labels,
      l.seconds, l.tasks, l.labels, l.tried_seconds, l.tried_tasks, l.tried_labels, l.state, l.doubted_until,
      l.lowering_held_at, l.lowered_at, l.lowered_from, l.sent_at, l.answered_at, l.closed_at, l.report_id,
      l.request_id, l.status, l.message
    from ${sql.raw(from)} left join ${sql.raw(beside)} on ${sameDay}`;
}

function toCondition(
  { database }: Storage,
  listed: Listed,
  { install, contractIds, from, to }: DayFilter,
  after: DayKey | undefined,
  isByDay = false,
): RawBuilder<unknown> {
  const column = (name: string) => sql.ref(`${listed}.${name}`);
  // Without `coalesce`, SQLite would use the index of days, and sort the whole span for each page.
  const day = isByDay ? column('day') : sql`coalesce(${column('day')}, '')`;
  const conditions = [sql`${column('install')} = ${install}`];
  if (contractIds !== undefined) {
    conditions.push(sql`${column('contract_id')} in ${jsonTexts(database, contractIds)}`);
  }
  if (from !== undefined) conditions.push(sql`${day} >= ${from}`);
  if (to !== undefined) conditions.push(sql`${day} <= ${to}`);
  if (after !== undefined) {
    const key = sql`(${column('contract_id')}, ${column('trainer_id')}, ${column('day')})`;
    conditions.push(sql`${key} > (${after.contractId}, ${after.trainerId}, ${after.day})`);
  }
  return sql.join(conditions, sql` and `);
}

function toDays({ dueSeconds, dueTasks, dueLabels, isPartial, isOpen, timeZone, ...row }: JoinedRow): DueAndLedger {
  const { install, contractId, trainerId, day } = row;
  const key = { install, contractId, trainerId, day };
  const counts = { seconds: dueSeconds, tasks: dueTasks, labels: dueLabels };
  return {
    ...key,
    due: isPartial === null ? undefined : { ...key, timeZone, counts, isPartial, isOpen },
    ledger: row.state === null ? undefined : toLedgerRow(row),
  };
}

/** Marks everyone with work, from their first day on, as `markWorkStale` marks some. */
export async function markAllStale(tx: Transaction): Promise<void> {
  await sql`insert into usage_stale (trainer_id, from_day, reopens)
    select trainer_id, '', 0 from usage_day union select trainer_id, '', 0 from usage_import_entry
    where true on conflict (trainer_id) do update set from_day = ''`.execute(tx);
}

/** How many trainers are stale, up to `most`. */
export async function countStale({ database }: Storage, most: number): Promise<number> {
  return (await database.kysely.selectFrom('usageStale').select('trainerId').limit(most).execute()).length;
}

/** Removes the marks of these trainers. A later change sets them again. */
export async function takeStale(
  database: Database,
  tx: Transaction,
  trainerIds: readonly string[],
): Promise<Row<'usageStale'>[]> {
  // On PostgreSQL this waits while another instance works on one of them.
  const taken = tx.deleteFrom('usageStale').where('trainerId', 'in', jsonTexts(database, trainerIds)).returningAll();
  return await taken.execute();
}

/** Some stale trainers with at most so many days of work together, but at least one trainer if there is any. */
export async function chooseStale(tx: Transaction, most: { trainers: number; days: number }): Promise<string[]> {
  const { rows } = await sql<{ trainerId: string; days: number }>`select trainer_id,
      (select count(*) from usage_day w where w.trainer_id = s.trainer_id and w.day >= s.from_day)
      + (select count(*) from usage_import_entry e where e.trainer_id = s.trainer_id and e.day >= s.from_day) as days
    from usage_stale s order by trainer_id limit ${most.trainers}`.execute(tx);
  let left = most.days;
  return rows.flatMap(({ trainerId, days }, index) => {
    left -= days;
    return index === 0 || left >= 0 ? [trainerId] : [];
  });
}

/** Some trainers who have work, or something due, and are not stale, by their ids. A first total always has a day. */
export async function listWorkedTrainers(db: Transaction, after: string, limit: number): Promise<string[]> {
  const parts = ['usage_day', 'usage_import_entry', 'usage_due'].map(
    (table) => sql`select trainer_id from (select distinct trainer_id from ${sql.raw(table)}
      where trainer_id > ${after} and trainer_id not in (select trainer_id from usage_stale) order by trainer_id limit ${limit}) as ${sql.raw(`of_${table}`)}`,
  );
  const query = sql<{ trainerId: string }>`${sql.join(parts, sql` union `)} order by trainer_id limit ${limit}`;
  return (await query.execute(db)).rows.map(({ trainerId }) => trainerId);
}
