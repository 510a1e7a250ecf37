import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Storage } from '../../context.ts';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { lockRows } from '../../db/lock.ts';
import { countRows, inParts, jsonTexts, keyIn, upsert } from '../../db/query.ts';
import type { Row } from '../../db/schema.ts';
import { AppError } from '../../domain/errors.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import type { Day } from '../../domain/usage.ts';
import { beginDay, type LedgerDay, type SendResult, type SentDay, settleDay } from './ledger-day.ts';

// The SQL of the ledger: what was reported to the marketplace, and the outcome.

/** A day of a trainer on a contract. */
export interface DayKey extends ContractKey, Pick<SentDay, 'trainerId' | 'day'> {}

export interface LedgerRow extends LedgerDay, ContractKey {
  reportId: string;
}

export const keyColumns = ['install', 'contractId', 'trainerId', 'day'] as const;

export function dayKey({ install, contractId, trainerId, day }: DayKey): string {
  return JSON.stringify([install, contractId, trainerId, day]);
}

/** The id that names a day for the marketplace. It never changes. */
export function reportIdOf(key: DayKey): string {
  return `gw-${createHash('sha256').update(dayKey(key)).digest('hex').slice(0, 32)}`;
}

/** The days of one contract since a day. */
export async function listLedger(ctx: Storage, of: ContractKey, from: Day): Promise<LedgerRow[]> {
  const { install, contractId } = of;
  const all = ctx.database.kysely.selectFrom('usageLedger').selectAll();
  // As a computed text, or SQLite would search all contracts by their days.
  const rows = all.where((eb) => eb.and({ install, contractId })).where(sql<string>`day || ''`, '>=', from);
  return (await rows.execute()).map(toLedgerRow);
}

/** How many days of an install since `from` were reported, and on how many of them a lowering is held. */
export async function countLedger(ctx: Storage, install: string, from: Day): Promise<{ known: number; held: number }> {
  const all = ctx.database.kysely.selectFrom('usageLedger').where('install', '=', install).where('day', '>=', from);
  return { known: await countRows(all), held: await countRows(all.where('loweringHeldAt', 'is not', null)) };
}

type SentKey = SentDay & DayKey;

/** Commits that these days of one contract are in doubt, because they are about to be sent. */
export async function beginSending(ctx: Storage, days: readonly SentKey[], sentAt: string): Promise<void> {
  await inTransaction(
    ctx.database,
    async (tx) => {
      const known = await loadLedger(ctx.database, tx, days, { isLocked: true });
      const { old = [], fresh = [] } = Object.groupBy(days, (day) => (known.has(dayKey(day)) ? 'old' : 'fresh'));
      const toBegun = (day: SentKey) => toRow(day, beginDay(known.get(dayKey(day)), day, sentAt));
      // These rows exist and are locked.
      await upsert(tx, 'usageLedger', keyColumns, old.map(toBegun));
      await insertNew(tx, fresh.map(toBegun));
    },
    { isDurable: true },
  );
}

/** Stores the outcome of the request that began at `sentAt`, unless another sender has begun since. */
export async function settleSent(
  ctx: Storage,
  days: readonly SentKey[],
  sentAt: string,
  { result, now }: { result: SendResult; now: string },
): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    const known = await loadLedger(ctx.database, tx, days, { isLocked: true });
    const settled = days.flatMap((day) => {
      const begun = known.get(dayKey(day));
      // Another sender has begun since, and has noted that this request is in doubt.
      if (begun === undefined || begun.sentAt !== sentAt) return [];
      return [toRow(day, settleDay(begun, day, result, now))];
    });
    await upsert(tx, 'usageLedger', keyColumns, settled);
  });
}

/** Days that were reported lower since an instant and have not risen again. */
export function countLowered(ctx: Storage, since: string): Promise<{ install: string; days: number }[]> {
  return ctx.database.kysely
    .selectFrom('usageLedger')
    .select((eb) => ['install', eb.fn.countAll<number>().as('days')])
    .where('loweredAt', '>=', since)
    .groupBy('install')
    .orderBy('install')
    .execute();
}

/** The day that a report id names. */
export async function findReported(db: Transaction, reportId: string): Promise<LedgerRow | undefined> {
  const row = await db.selectFrom('usageLedger').selectAll().where('reportId', '=', reportId).executeTakeFirst();
  return row && toLedgerRow(row);
}

export function toLedgerRow(stored: Row<'usageLedger'>): LedgerRow {
  const { seconds, tasks, labels, triedSeconds, triedTasks, triedLabels, ...others } = stored;
  const { loweringHeldAt: heldSince, loweredAt: at, loweredFrom: from, ...row } = others;
  return {
    ...row,
    heldSince,
    lowered: at === null || from === null ? null : { at, from: JSON.parse(from) },
    answered: { seconds, tasks, labels },
    tried: { seconds: triedSeconds, tasks: triedTasks, labels: triedLabels },
  };
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

/**
 * What is stored of days of one install, by `dayKey`. Other days of their trainers may be among them.
 *
 * @param isLocked whether the rows are locked until the end of the transaction
 */
export async function loadLedger(
  database: Database,
  db: Transaction,
  days: readonly DayKey[],
  { isLocked = false } = {},
): Promise<Map<string, LedgerRow>> {
  const sorted = days.map(({ day }) => day).sort();
  const rows = db
    .selectFrom('usageLedger')
    .selectAll()
    .where('install', '=', days[0]?.install ?? '')
    .where('contractId', 'in', jsonTexts(database, [...new Set(days.map(({ contractId }) => contractId))]))
    .where('trainerId', 'in', jsonTexts(database, [...new Set(days.map(({ trainerId }) => trainerId))]))
    .where('day', '>=', sorted[0] ?? '')
    .where('day', '<=', sorted.at(-1) ?? '')
    .orderBy('trainerId')
    .orderBy('day');
  const found = await (isLocked ? lockRows(database, rows) : rows).execute();
  return new Map(found.map((row) => [dayKey(row), toLedgerRow(row)]));
}

/** @throws AppError `unavailable` if another sender has begun the same days meanwhile */
async function insertNew(tx: Transaction, rows: readonly Row<'usageLedger'>[]): Promise<void> {
  if (rows.length === 0) return;
  const insert = tx.insertInto('usageLedger').values([...rows]);
  const { numInsertedOrUpdatedRows } = await insert.onConflict((conflict) => conflict.doNothing()).executeTakeFirst();
  if (numInsertedOrUpdatedRows === BigInt(rows.length)) return;
  throw new AppError('unavailable', 'Another process is sending the same usage');
}

/** Lets closed days be sent again. */
export async function reopenDays(tx: Transaction, days: readonly DayKey[]): Promise<void> {
  for (const part of inParts(days)) {
    await tx.updateTable('usageLedger').set({ closedAt: null }).where(keyIn(keyColumns, part)).execute();
  }
}

/** Lets days that an operator decided about be sent again, also if that lowers them. */
export async function releaseDays(tx: Transaction, days: readonly DayKey[]): Promise<void> {
  await reopenDays(tx, days);
  const dueOrTried = (name: string) =>
    sql<number | null>`coalesce((select d.${sql.raw(name)} from usage_due d
      where d.install = usage_ledger.install and d.contract_id = usage_ledger.contract_id
      and d.trainer_id = usage_ledger.trainer_id and d.day = usage_ledger.day), tried_${sql.raw(name)})`;
  for (const part of inParts(days)) {
    await tx
      .updateTable('usageLedger')
      .set({
        triedSeconds: dueOrTried('seconds'),
        triedTasks: dueOrTried('tasks'),
        triedLabels: dueOrTried('labels'),
      })
      .where('state', '=', 'answered')
      .where(keyIn(keyColumns, part))
      .execute();
  }
}

/** Holds the lowering of days for an operator, or releases it. */
export async function holdLowerings(ctx: Storage, days: readonly DayKey[], since: string | null): Promise<void> {
  if (days.length === 0) return;
  await inTransaction(ctx.database, async (tx) => {
    for (const part of inParts(days)) {
      const held = tx.updateTable('usageLedger').set({ loweringHeldAt: since });
      await held.where(keyIn(keyColumns, part)).execute();
    }
  });
}

/** A removal whose work was read to the end and was not reported since; undefined if there is none. */
export function nextFinalReport(ctx: Storage, now: string) {
  const isRead = sql<boolean>`not exists (select 1 from awaited_scope a
    left join usage_scope s on s.tool = a.tool and s.scope = a.scope where a.membership_id = awaited_reading.membership_id
    and (s.read_began_at is null or s.read_began_at < awaited_reading.work_since))`;
  return ctx.database.kysely
    .selectFrom('awaitedReading')
    .innerJoin('membership', 'membership.id', 'awaitedReading.membershipId')
    .select(['awaitedReading.membershipId', 'awaitedReading.generation', 'awaitedReading.workSince'])
    .select(['membership.tool', 'membership.groupId', 'membership.trainerId'])
    .where('awaitedReading.workSince', 'is not', null)
    .$narrowType<{ workSince: string }>()
    .where('awaitedReading.reportedAt', 'is', null)
    .where((eb) => eb.or([eb('awaitedReading.reportAfter', 'is', null), eb('awaitedReading.reportAfter', '<=', now)]))
    .where(isRead)
    .orderBy('awaitedReading.workSince')
    .limit(1)
    .executeTakeFirst();
}
