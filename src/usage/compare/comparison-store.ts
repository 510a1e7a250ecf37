import { inTransaction, type Transaction } from '../../db/database.ts';
import { takeTurn } from '../../db/lease.ts';
import type { Row } from '../../db/schema.ts';
import { readSetting, writeSetting } from '../../db/setting-store.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import { type Counts, type Day, toCounts } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';
import { chunksOf } from '../../lib/chunks.ts';
import { type LedgerRow, toLedgerRow } from '../report/ledger-store.ts';
import type { Difference, DifferenceCause, HeldFacts } from './difference.ts';

// The only SQL of what comparing the tools with the marketplace found.

export interface FoundDifferences {
  at: string;
  firstDay: Day;
  differences: readonly Difference[];
  /** How many more there are. */
  left: number;
  sums: readonly DaySum[];
}

export interface DaySum {
  install: string;
  day: Day;
  seen: Counts;
  sent: Counts;
}

export interface DifferenceFilter {
  install?: string | undefined;
  day?: Day | undefined;
  why?: readonly DifferenceCause[] | undefined;
  /** Only what was found before: the page before one that was listed. */
  before?: number | undefined;
  limit: number;
}

export interface ListedDifference extends Difference {
  id: number;
  displayName: string | null;
}

interface DaySpan {
  install?: string | undefined;
  from: Day;
  to: Day;
}

export interface ComparedDays {
  day: Day;
  seen: Counts;
  sent: Counts;
  /** How many days of trainers differ, and how many pieces of work are held. */
  differing: number;
  held: number;
}

const rowsAtOnce = 500;
/** What was found of older days is forgotten. */
const keptDays = 400;

/** Replaces what was found of these days and of later ones. What was found of days before stays, and is final. */
export async function replaceDifferences(
  ctx: Storage,
  { at, firstDay, differences, left, sums }: FoundDifferences,
): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    await takeTurn(ctx.database, tx, 'usage comparison');
    const oldest = new Date(Date.parse(at) - keptDays * 86_400_000).toISOString().slice(0, 10);
    await tx
      .deleteFrom('usageDifference')
      .where((eb) => eb.or([eb('day', '>=', firstDay), eb('day', '<', oldest)]))
      .execute();
    await tx
      .deleteFrom('usageDaySum')
      .where((eb) => eb.or([eb('day', '>=', firstDay), eb('day', '<', oldest)]))
      .execute();
    // What has left the look-back can be decided no longer.
    await tx
      .updateTable('usageDifference')
      .set({ heldId: null })
      .where('day', '<', firstDay)
      .where('heldId', 'is not', null)
      .execute();
    await insertAll(tx, differences);
    for (const some of chunksOf(sums.map(toSumRow), rowsAtOnce)) {
      await tx.insertInto('usageDaySum').values(some).execute();
    }
    await writeSetting(tx, 'usage_compared_at', at);
    await writeSetting(tx, 'usage_differences_left', String(left));
  });
}

/** The same of one contract alone; the sums stay as they are. */
export async function replaceDifferencesOf(
  ctx: Storage,
  { install, contractId }: ContractKey,
  firstDay: Day,
  differences: readonly Difference[],
): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    await takeTurn(ctx.database, tx, 'usage comparison');
    await tx
      .deleteFrom('usageDifference')
      .where('install', '=', install)
      .where('contractId', '=', contractId)
      .where('day', '>=', firstDay)
      .where('heldId', 'is', null)
      .execute();
    await insertAll(tx, differences);
  });
}

/** An operator has decided about this held work. */
export async function dropHeldDifference(ctx: Storage, heldId: string): Promise<void> {
  await inTransaction(ctx.database, (tx) => tx.deleteFrom('usageDifference').where('heldId', '=', heldId).execute());
}

/** The latest days first, as they are found. */
export async function listDifferences(
  ctx: Storage,
  { install, day, why, before, limit }: DifferenceFilter,
): Promise<ListedDifference[]> {
  let query = selectNamed(ctx.database.kysely);
  if (install !== undefined) query = query.where('install', '=', install);
  if (day !== undefined) query = query.where('day', '=', day);
  if (why !== undefined) query = query.where('why', 'in', [...why]);
  if (before !== undefined) query = query.where('id', '<', before);
  return (await query.orderBy('id', 'desc').limit(limit).execute()).map(toDifference);
}

export async function findHeldDifference(ctx: Storage, heldId: string): Promise<ListedDifference | undefined> {
  const row = await selectNamed(ctx.database.kysely)
    .where('heldId', '=', heldId)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return row && toDifference(row);
}

/** All days in a span, the latest first. */
export async function listComparedDays(ctx: Storage, span: DaySpan): Promise<ComparedDays[]> {
  const sums = await sumDays(ctx.database.kysely, span);
  const counted = new Map((await countDifferences(ctx.database.kysely, span)).map((one) => [one.day, one]));
  const seen = new Map(sums.map((one) => [one.day, one]));
  return [...new Set([...seen.keys(), ...counted.keys()])]
    .sort()
    .reverse()
    .map((day) => toComparedDays(day, seen.get(day), counted.get(day)));
}

/** On how many days something differs or is held, since a day. */
export async function countComparedDays(ctx: Storage, since: Day): Promise<number> {
  const { days } = await ctx.database.kysely
    .selectFrom('usageDifference')
    .select((eb) => eb.fn.count<number>('day').distinct().as('days'))
    .where('day', '>=', since)
    .executeTakeFirstOrThrow();
  return Number(days);
}

/** On one day of an install: what the marketplace has, and what was not answered or is held from being lowered. */
export async function sentOnDay(
  ctx: Storage,
  install: string,
  day: Day,
  limit: number,
): Promise<{ sent: Counts; troubled: LedgerRow[] }> {
  const ofDay = ctx.database.kysely.selectFrom('usageLedger').where('install', '=', install).where('day', '=', day);
  const sum = await ofDay
    .select((eb) => [
      eb.fn.sum<number | null>('seconds').as('seconds'),
      eb.fn.sum<number | null>('tasks').as('tasks'),
      eb.fn.sum<number | null>('labels').as('labels'),
    ])
    .executeTakeFirstOrThrow();
  const troubled = await ofDay
    .selectAll()
    .where((eb) => eb.or([eb('state', '!=', 'answered'), eb('loweringHeldAt', 'is not', null)]))
    .orderBy('contractId')
    .orderBy('trainerId')
    .limit(limit)
    .execute();
  return { sent: toCounts((name) => toNumber(sum[name])), troubled: troubled.map(toLedgerRow) };
}

/** The last comparison, and how many differences it had no room for; undefined before the first. */
export async function lastComparison(ctx: Storage): Promise<{ at: string; left: number } | undefined> {
  const at = await readSetting(ctx.database.kysely, 'usage_compared_at');
  if (at === undefined) return undefined;
  return { at, left: Number((await readSetting(ctx.database.kysely, 'usage_differences_left')) ?? 0) };
}

function selectNamed(kysely: Transaction) {
  return kysely
    .selectFrom('usageDifference')
    .selectAll()
    .select((eb) =>
      eb
        .selectFrom('person')
        .select((of) => of.fn.max('displayName').as('name'))
        .whereRef('person.trainerId', '=', 'usageDifference.trainerId')
        .as('displayName'),
    );
}

async function insertAll(tx: Transaction, differences: readonly Difference[]): Promise<void> {
  for (const some of chunksOf(differences.map(toRow), rowsAtOnce)) {
    await tx.insertInto('usageDifference').values(some).execute();
  }
}

function toRow({ seen, sent, held, ...rest }: Difference) {
  return { ...rest, ...toColumns(seen, sent), held: held && JSON.stringify(held) };
}

function toSumRow({ install, day, seen, sent }: DaySum) {
  return { install, day, ...toColumns(seen, sent) };
}

function toColumns(seen: Counts | null, sent: Counts | null) {
  return {
    seenSeconds: seen?.seconds ?? null,
    seenTasks: seen?.tasks ?? null,
    seenLabels: seen?.labels ?? null,
    sentSeconds: sent?.seconds ?? null,
    sentTasks: sent?.tasks ?? null,
    sentLabels: sent?.labels ?? null,
  };
}

type Columns = ReturnType<typeof toColumns>;

function seenIn({ seenSeconds: seconds, seenTasks: tasks, seenLabels: labels }: Columns): Counts {
  return { seconds, tasks, labels };
}

function sentIn({ sentSeconds: seconds, sentTasks: tasks, sentLabels: labels }: Columns): Counts {
  return { seconds, tasks, labels };
}

function toDifference(row: Row<'usageDifference'> & { displayName: string | null }): ListedDifference {
  const { id, displayName, install, contractId, trainerId, day, why, held, heldId } = row;
  return {
    id,
    displayName,
    install,
    contractId,
    trainerId,
    day,
    why: why as DifferenceCause,
    seen: seenIn(row),
    sent: sentIn(row),
    held: held === null ? null : (JSON.parse(held) as HeldFacts),
    heldId,
  };
}

async function sumDays(kysely: Transaction, { install, from, to }: DaySpan) {
  let query = kysely.selectFrom('usageDaySum').where('day', '>=', from).where('day', '<=', to);
  if (install !== undefined) query = query.where('install', '=', install);
  const rows = await query
    .select('day')
    .select((eb) => [
      eb.fn.sum<number | null>('seenSeconds').as('seenSeconds'),
      eb.fn.sum<number | null>('seenTasks').as('seenTasks'),
      eb.fn.sum<number | null>('seenLabels').as('seenLabels'),
      eb.fn.sum<number | null>('sentSeconds').as('sentSeconds'),
      eb.fn.sum<number | null>('sentTasks').as('sentTasks'),
      eb.fn.sum<number | null>('sentLabels').as('sentLabels'),
    ])
    .groupBy('day')
    .execute();
  return rows;
}

async function countDifferences(kysely: Transaction, { install, from, to }: DaySpan) {
  let query = kysely.selectFrom('usageDifference').where('day', '>=', from).where('day', '<=', to);
  if (install !== undefined) query = query.where('install', '=', install);
  return await query
    .select('day')
    .select((eb) => [
      eb.fn.countAll<number>().filterWhere('heldId', 'is', null).as('differing'),
      eb.fn.countAll<number>().filterWhere('heldId', 'is not', null).as('held'),
    ])
    .groupBy('day')
    .execute();
}

type Counted = Awaited<ReturnType<typeof countDifferences>>[number];

function toComparedDays(day: Day, sum: Columns | undefined, counted: Counted | undefined): ComparedDays {
  const { differing = 0, held = 0 } = counted ?? {};
  const seen = toCounts((name) => toNumber(sum?.[seenColumns[name]]));
  const sent = toCounts((name) => toNumber(sum?.[sentColumns[name]]));
  return { day, seen, sent, differing: Number(differing), held: Number(held) };
}

const seenColumns = { seconds: 'seenSeconds', tasks: 'seenTasks', labels: 'seenLabels' } as const;
const sentColumns = { seconds: 'sentSeconds', tasks: 'sentTasks', labels: 'sentLabels' } as const;

/** PostgreSQL sums large numbers as texts. */
function toNumber(sum: number | null | undefined): number | null {
  return sum == null ? null : Number(sum);
}
