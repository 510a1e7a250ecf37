import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { jsonRows, jsonTexts } from '../../db/json-list.ts';
import { lockRows } from '../../db/lease.ts';
import type { Row } from '../../db/schema.ts';
import { AppError } from '../../domain/errors.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import type { Day } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';
import { beginDay, type LedgerDay, type SendResult, type SentDay, settleDay } from './ledger-day.ts';

// The SQL of the ledger: what was reported to the marketplace, and the outcome.

type DayOf = Pick<SentDay, 'trainerId' | 'day'>;

/** A day of a trainer on a contract. */
export interface DayKey extends ContractKey, DayOf {}

export interface LedgerRow extends LedgerDay, ContractKey {
  reportId: string;
}

/** The days of one contract. */
export async function listLedger(ctx: Storage, of: ContractKey): Promise<LedgerRow[]> {
  const rows: LedgerRow[] = [];
  // Page by page: one query for everything would block the thread for too long.
  for (let page = await listPage(ctx.database, of, undefined); ; ) {
    for (const row of page) rows.push(toLedgerRow(row));
    if (page.length < pageSize) return rows;
    await nextTurn();
    page = await listPage(ctx.database, of, page.at(-1));
  }
}

/** How many days of an install were reported since a day, and on how many of them a lowering is held. */
export async function countLedger(ctx: Storage, install: string, from: Day): Promise<{ known: number; held: number }> {
  const all = ctx.database.kysely
    .selectFrom('usageLedger')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('install', '=', install)
    .where('day', '>=', from);
  const { n: known } = await all.executeTakeFirstOrThrow();
  const { n: held } = await all.where('loweringHeldAt', 'is not', null).executeTakeFirstOrThrow();
  return { known: Number(known), held: Number(held) };
}

/** Commits that these days of one contract are being sent and are in doubt. */
export async function beginSending(
  ctx: Storage,
  of: ContractKey,
  days: readonly SentDay[],
  sentAt: string,
): Promise<void> {
  await inTransaction(
    ctx.database,
    async (tx) => {
      const known = await lockDays(ctx.database, tx, of, days);
      const [old, fresh] = [days.filter(isIn(known)), days.filter((day) => !isIn(known)(day))];
      const toBegun = (day: SentDay) => toRow(of, beginDay(known.get(keyOf(day)), day, sentAt));
      await replace(ctx.database, tx, old.map(toBegun));
      await insertNew(ctx.database, tx, fresh.map(toBegun));
    },
    { isDurable: true },
  );
}

/** Stores the outcome of what was begun then, unless another sender has begun since. */
export async function settleSent(
  ctx: Storage,
  of: ContractKey,
  days: readonly SentDay[],
  sentAt: string,
  { result, now }: { result: SendResult; now: string },
): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    const known = await lockDays(ctx.database, tx, of, days);
    const settled = days.flatMap((day) => {
      const begun = known.get(keyOf(day));
      // A sender that has begun since has already noted that this is in doubt.
      if (begun === undefined || begun.sentAt !== sentAt) return [];
      return [toRow(of, settleDay(begun, day, result, now))];
    });
    await replace(ctx.database, tx, settled);
  });
}

/** Held days of any age, and days that were reported lower since an instant. */
export async function listLowered(ctx: Storage, install: string, since: string): Promise<LedgerRow[]> {
  const ofInstall = ctx.database.kysely.selectFrom('usageLedger').selectAll().where('install', '=', install);
  // Each part has an index of its own. With an `or`, SQLite reads all days of the install.
  const rows = ofInstall
    .where('loweringHeldAt', 'is not', null)
    .union(ofInstall.where('loweredAt', '>=', since))
    .orderBy('day')
    .orderBy('contractId')
    .orderBy('trainerId');
  return (await rows.execute()).map(toLedgerRow);
}

/** Days that were reported lower since an instant and have not risen again. */
export async function countLowered(ctx: Storage, since: string): Promise<{ install: string; days: number }[]> {
  const rows = await ctx.database.kysely
    .selectFrom('usageLedger')
    .select((eb) => ['install', eb.fn.countAll<number>().as('days')])
    .where('loweredAt', '>=', since)
    .groupBy('install')
    .orderBy('install')
    .execute();
  return rows.map(({ install, days }) => ({ install, days: Number(days) }));
}

/** The day that a report id names. */
export async function findReported(db: Transaction, reportId: string): Promise<LedgerRow | undefined> {
  const row = await db.selectFrom('usageLedger').selectAll().where('reportId', '=', reportId).executeTakeFirst();
  return row && toLedgerRow(row);
}

const pageSize = 2000;

async function listPage(
  database: Database,
  { install, contractId }: ContractKey,
  after: Row<'usageLedger'> | undefined,
): Promise<Row<'usageLedger'>[]> {
  let rows = database.kysely
    .selectFrom('usageLedger')
    .selectAll()
    .where('install', '=', install)
    .where('contractId', '=', contractId)
    .orderBy('trainerId')
    .orderBy('day')
    .limit(pageSize);
  if (after !== undefined) {
    rows = rows.where((eb) => eb(eb.refTuple('trainerId', 'day'), '>', eb.tuple(after.trainerId, after.day)));
  }
  return await rows.execute();
}

/** The key of a day in the ledger, and the id that names it for the marketplace. Neither ever changes. */
export function reportIdOf({ install, contractId, trainerId, day }: DayKey): string {
  const key = JSON.stringify([install, contractId, trainerId, day]);
  return `gw-${createHash('sha256').update(key).digest('hex').slice(0, 32)}`;
}

function keyOf({ trainerId, day }: DayOf): string {
  return JSON.stringify([trainerId, day]);
}

function isIn(known: ReadonlyMap<string, LedgerDay>): (day: DayOf) => boolean {
  return (day) => known.has(keyOf(day));
}

/** Reads the fields one by one: this is done for every day of a check. */
export function toLedgerRow(row: Row<'usageLedger'>): LedgerRow {
  return {
    install: row.install,
    contractId: row.contractId,
    trainerId: row.trainerId,
    day: row.day,
    state: row.state,
    sentAt: row.sentAt,
    answeredAt: row.answeredAt,
    closedAt: row.closedAt,
    doubtedUntil: row.doubtedUntil,
    heldSince: row.loweringHeldAt,
    status: row.status,
    requestId: row.requestId,
    message: row.message,
    reportId: row.reportId,
    lowered: toLowered(row),
    answered: { seconds: row.seconds, tasks: row.tasks, labels: row.labels },
    tried: { seconds: row.triedSeconds, tasks: row.triedTasks, labels: row.triedLabels },
  };
}

function toLowered({ loweredAt: at, loweredFrom: from }: Row<'usageLedger'>): LedgerDay['lowered'] {
  return at === null || from === null ? null : { at, from: JSON.parse(from) };
}

function toRow({ install, contractId }: ContractKey, one: LedgerDay): Row<'usageLedger'> {
  const { answered, tried, heldSince: loweringHeldAt, lowered, ...rest } = one;
  const { seconds: triedSeconds, tasks: triedTasks, labels: triedLabels } = tried;
  return {
    install,
    contractId,
    ...rest,
    ...answered,
    triedSeconds,
    triedTasks,
    triedLabels,
    loweredAt: lowered?.at ?? null,
    loweredFrom: lowered && JSON.stringify(lowered.from),
    loweringHeldAt,
    reportId: reportIdOf({ install, contractId, ...rest }),
  };
}

/** Reads the rows and locks them until the end of the transaction. */
async function lockDays(
  database: Database,
  tx: Transaction,
  { install, contractId }: ContractKey,
  days: readonly DayOf[],
): Promise<Map<string, LedgerDay>> {
  const sorted = days.map(({ day }) => day).sort();
  const trainerIds = [...new Set(days.map(({ trainerId }) => trainerId))];
  const rows = tx
    .selectFrom('usageLedger')
    .selectAll()
    .where('install', '=', install)
    .where('contractId', '=', contractId)
    .where('trainerId', 'in', jsonTexts(database, trainerIds))
    .where('day', '>=', sorted[0] ?? '')
    .where('day', '<=', sorted.at(-1) ?? '')
    .orderBy('trainerId')
    .orderBy('day');
  const locked = await lockRows(database, rows).execute();
  return new Map(locked.map((row) => [keyOf(row), toLedgerRow(row)]));
}

const keyColumns = ['install', 'contract_id', 'trainer_id', 'day'];
const countColumns = ['seconds', 'tasks', 'labels', 'tried_seconds', 'tried_tasks', 'tried_labels'];
const otherColumns = [
  'state',
  'sent_at',
  'answered_at',
  'closed_at',
  'doubted_until',
  'lowering_held_at',
  'lowered_at',
  'lowered_from',
  'status',
  'request_id',
  'message',
  'report_id',
];
const columns = [...keyColumns, ...countColumns, ...otherColumns];

/** One statement for any number of rows: thousands of parameters take longer to write than to store. */
function insert(database: Database, rows: readonly Row<'usageLedger'>[], onConflict: RawBuilder<unknown>) {
  const values = columns.map((name, index) => {
    const isNumber = countColumns.includes(name) || name === 'status';
    return sql.raw(isNumber ? `cast(value ->> ${index} as bigint)` : `value ->> ${index}`);
  });
  return sql`insert into usage_ledger (${sql.join(columns.map((name) => sql.ref(name)))})
    select ${sql.join(values)} from ${jsonRows(database, rows.map(toValues))} as given
    where true on conflict (${sql.join(keyColumns.map((name) => sql.ref(name)))}) ${onConflict}`;
}

/** In the order of the columns. */
function toValues(row: Row<'usageLedger'>): (string | number | null)[] {
  return [
    row.install,
    row.contractId,
    row.trainerId,
    row.day,
    row.seconds,
    row.tasks,
    row.labels,
    row.triedSeconds,
    row.triedTasks,
    row.triedLabels,
    row.state,
    row.sentAt,
    row.answeredAt,
    row.closedAt,
    row.doubtedUntil,
    row.loweringHeldAt,
    row.loweredAt,
    row.loweredFrom,
    row.status,
    row.requestId,
    row.message,
    row.reportId,
  ];
}

/** Updates rows that exist and are locked. */
async function replace(database: Database, tx: Transaction, rows: readonly Row<'usageLedger'>[]): Promise<void> {
  if (rows.length === 0) return;
  const set = [...countColumns, ...otherColumns].map((name) => sql.raw(`${name} = excluded.${name}`));
  await insert(database, rows, sql`do update set ${sql.join(set)}`).execute(tx);
}

/** @throws AppError `unavailable` where another sender has begun the same meanwhile */
async function insertNew(database: Database, tx: Transaction, rows: readonly Row<'usageLedger'>[]): Promise<void> {
  if (rows.length === 0) return;
  const { numAffectedRows } = await insert(database, rows, sql`do nothing`).execute(tx);
  if (numAffectedRows === BigInt(rows.length)) return;
  throw new AppError('unavailable', 'Another process is sending the same usage');
}
