import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import type { UsageLedgerTable } from '../../db/usage-tables.ts';
import type { Counts, Day } from '../../domain/usage.ts';
import type { DueDay } from '../attribute/attribute-work.ts';
import type { LedgerDay, PlannedEntry } from './plan-report.ts';

/** The only SQL of the ledger: what was reported to the marketplace, and what came of it. */
export interface LedgerStore {
  /** Of one contract, or of a whole install, since a day. */
  list(of: LedgerScope): Promise<LedgerRow[]>;
  /** The first day that was never sent for the last time, from a day on. */
  oldestOpen(from: Day): Promise<Day | null>;
  /** Commits that these are being sent: until they are settled, nobody knows what arrived. */
  begin(entries: readonly PlannedEntry[], now: string): Promise<void>;
  settle(entries: readonly PlannedEntry[], result: SendResult, now: string): Promise<void>;
}

export interface LedgerScope {
  install: string;
  contractId?: string;
  /** Days before it are given only where they were never sent for the last time. */
  firstDay?: Day;
}

export interface LedgerRow extends LedgerDay {
  install: string;
  contractId: string;
  reportId: string;
  answeredAt: string | null;
}

export type SendResult =
  | { state: 'answered' }
  | {
      state: 'refused' | 'unsent';
      status: number | null;
      requestId: string | null;
      message: string;
    };

export function createLedgerStore(database: Database): LedgerStore {
  const { kysely } = database;
  return {
    async list(of) {
      const rows: LedgerRow[] = [];
      // Page by page: all at once would keep the thread from answering for too long.
      for (let page = await listPage(kysely, of, undefined); ; ) {
        rows.push(...page.map(toLedgerRow));
        if (page.length < pageSize) return rows;
        await nextTurn();
        page = await listPage(kysely, of, page.at(-1));
      }
    },

    async oldestOpen(from) {
      const { day } = await kysely
        .selectFrom('usageLedger')
        .select((eb) => eb.fn.min('day').as('day'))
        .where('closedAt', 'is', null)
        .where('day', '>=', from)
        .executeTakeFirstOrThrow();
      return day;
    },

    async begin(entries, now) {
      const rows = entries.map((entry) => toBegun(entry, now));
      await inTransaction(database, (tx) => upsertBegun(tx, rows), { isDurable: true });
    },

    async settle(entries, result, now) {
      await inTransaction(database, async (tx) => {
        for (const entry of entries) await settleOne(tx, entry, result, now);
      });
    },
  };
}

const pageSize = 2000;

async function listPage(
  db: Transaction,
  { install, contractId, firstDay }: LedgerScope,
  after: UsageLedgerTable | undefined,
): Promise<UsageLedgerTable[]> {
  let rows = db
    .selectFrom('usageLedger')
    .selectAll()
    .where('install', '=', install)
    .orderBy('contractId')
    .orderBy('trainerId')
    .orderBy('day')
    .limit(pageSize);
  if (contractId !== undefined) rows = rows.where('contractId', '=', contractId);
  if (firstDay !== undefined) {
    rows = rows.where((eb) => eb.or([eb('day', '>=', firstDay), eb('closedAt', 'is', null)]));
  }
  if (after !== undefined) {
    rows = rows.where((eb) =>
      eb(
        eb.refTuple('contractId', 'trainerId', 'day'),
        '>',
        eb.tuple(after.contractId, after.trainerId, after.day),
      ),
    );
  }
  return await rows.execute();
}

/** Where a ledger's day is found, and what names it for the marketplace: always the same. */
export function reportIdOf({ install, contractId, trainerId, day }: DayKey): string {
  const key = JSON.stringify([install, contractId, trainerId, day]);
  return `gw-${createHash('sha256').update(key).digest('hex').slice(0, 32)}`;
}

type DayKey = Pick<DueDay, 'install' | 'contractId' | 'trainerId' | 'day'>;

function toKey({ install, contractId, trainerId, day }: DayKey): DayKey {
  return { install, contractId, trainerId, day };
}

function toLedgerRow(row: UsageLedgerTable): LedgerRow {
  const { seconds, tasks, labels, triedSeconds, triedTasks, triedLabels } = row;
  return {
    ...{ ...toKey(row), state: row.state, sentAt: row.sentAt, message: row.message },
    ...{ reportId: row.reportId, answeredAt: row.answeredAt },
    answered: { seconds, tasks, labels },
    tried: { seconds: triedSeconds, tasks: triedTasks, labels: triedLabels },
    isDoubted: row.isDoubted === 1,
    isClosed: row.closedAt !== null,
  };
}

function toTried({ seconds, tasks, labels }: Counts) {
  return { triedSeconds: seconds, triedTasks: tasks, triedLabels: labels };
}

function toBegun(entry: PlannedEntry, now: string): UsageLedgerTable {
  return {
    ...{ ...toKey(entry), ...toTried(entry.counts), seconds: null, tasks: null, labels: null },
    ...{ state: 'in_doubt', isDoubted: 0, sentAt: now, answeredAt: null, closedAt: null },
    ...{ reportId: reportIdOf(entry), requestId: null, status: null, message: null },
  };
}

async function upsertBegun(tx: Transaction, rows: UsageLedgerTable[]): Promise<void> {
  await tx
    .insertInto('usageLedger')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['install', 'contractId', 'trainerId', 'day']).doUpdateSet((eb) => ({
        // Whatever was under way before may arrive after what is sent now.
        isDoubted: eb
          .case()
          .when('usageLedger.state', '=', 'in_doubt')
          .then(1)
          .when('usageLedger.state', '=', 'answered')
          .then(0)
          .else(eb.ref('usageLedger.isDoubted'))
          .end(),
        state: 'in_doubt',
        triedSeconds: eb.ref('excluded.triedSeconds'),
        triedTasks: eb.ref('excluded.triedTasks'),
        triedLabels: eb.ref('excluded.triedLabels'),
        sentAt: eb.ref('excluded.sentAt'),
      })),
    )
    .execute();
}

async function settleOne(
  tx: Transaction,
  entry: PlannedEntry,
  result: SendResult,
  now: string,
): Promise<void> {
  const { seconds, tasks, labels } = entry.counts;
  const told = {
    ...(seconds !== null && { seconds }),
    ...(tasks !== null && { tasks }),
    ...(labels !== null && { labels }),
  };
  const outcome =
    result.state === 'answered'
      ? {
          ...{ ...told, answeredAt: now, requestId: null, status: null, message: null },
          ...(entry.closes && { closedAt: now }),
        }
      : { requestId: result.requestId, status: result.status, message: result.message };
  await tx
    .updateTable('usageLedger')
    .set({ state: result.state, ...outcome })
    .where((eb) => eb.and(toKey(entry)))
    .execute();
}
