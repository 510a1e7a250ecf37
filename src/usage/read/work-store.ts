import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database, Transaction } from '../../db/database.ts';
import { inParts, jsonTexts, keyIn } from '../../db/query.ts';
import type { Row } from '../../db/schema.ts';
import type { Counts, Day, Moment, Observation } from '../../domain/usage.ts';
import { markWorkStale } from '../../memberships/derivation-store.ts';
import { type Item, lastMoment, momentsOf } from './merge-items.ts';
import type { MemberWork, ObservedDay, ReadTotal, Totals } from './merge-work.ts';
import type { ScopeKey } from './scope-store.ts';

// The SQL of the work that was seen, as it is stored.

/** By the tool's id. */
export async function loadPeople(db: Transaction, { tool, scope }: ScopeKey, memberIds: readonly string[]) {
  const people = new Map<string, Row<'usagePerson'>>();
  for (const part of inParts(memberIds)) {
    const rows = db.selectFrom('usagePerson').selectAll().where('tool', '=', tool).where('scope', '=', scope);
    for (const row of await rows.where('memberId', 'in', part).execute()) people.set(row.memberId, row);
  }
  return people;
}

export interface WorkSelection {
  totals: Totals | null;
  itemIds: readonly string[];
}

/** By the tool's id, with an entry for each. Before `firstDay`, only the wanted pieces are loaded. */
export async function loadWorks(
  db: Transaction,
  { tool, scope }: ScopeKey,
  people: ReadonlyMap<string, WorkSelection>,
  firstDay: Day,
): Promise<Map<string, MemberWork>> {
  const works = new Map<string, MemberWork & { items: Map<string, Item>; days: Map<Day, ObservedDay> }>();
  for (const [id, { totals }] of people)
    works.set(id, { items: new Map(), totals, earlierTotals: [], days: new Map() });
  const earliest = [...people.values()]
    .map(({ totals }) => earliestDay(firstDay, totals))
    .reduce((a, b) => (a < b ? a : b), firstDay);
  const items = db.selectFrom('usageItem').selectAll().where('tool', '=', tool).where('scope', '=', scope);
  const addItems = (rows: readonly Row<'usageItem'>[]) => {
    for (const row of rows) works.get(row.memberId)?.items.set(row.itemId, toItem(row));
  };
  for (const part of inParts([...works.keys()])) {
    addItems(await items.where('memberId', 'in', part).where('lastDay', '>=', firstDay).execute());
    const days = db.selectFrom('usageDay').selectAll().where('tool', '=', tool).where('scope', '=', scope);
    for (const row of await days.where('memberId', 'in', part).where('day', '>=', earliest).execute()) {
      const work = works.get(row.memberId);
      if (work !== undefined && row.day >= earliestDay(firstDay, work.totals)) work.days.set(row.day, toSeen(row));
    }
  }
  const others = [...people].flatMap(([memberId, { itemIds }]) =>
    itemIds.filter((itemId) => !works.get(memberId)?.items.has(itemId)).map((itemId) => ({ memberId, itemId })),
  );
  for (const part of inParts(others)) addItems(await items.where(keyIn(['memberId', 'itemId'], part)).execute());
  return works;
}

/** The last day of a total is needed, however old it is. */
function earliestDay(firstDay: Day, totals: Totals | null): Day {
  return totals !== null && totals.day < firstDay ? totals.day : firstDay;
}

export function totalsOf(person: Pick<Row<'usagePerson'>, 'totals'> | undefined): Totals | null {
  const text = person?.totals ?? null;
  return text === null ? null : (JSON.parse(text) as Totals);
}

/** The totals of an account while it belonged to no trainer. */
export function readTotalsOf(person: Pick<Row<'usagePerson'>, 'totals'> | undefined): ReadTotal[] {
  return JSON.parse(person?.totals ?? '[]') as ReadTotal[];
}

function toSeen(row: Counts & { isFrozen: boolean; isTorn: boolean }): ObservedDay {
  const { seconds, tasks, labels, isFrozen, isTorn } = row;
  return { counts: { seconds, tasks, labels }, isFrozen, isTorn };
}

type ItemColumns = Omit<Row<'usageItem'>, 'tool' | 'scope' | 'memberId' | 'itemId'>;

export function toItemColumns(item: Item): ItemColumns {
  const grown = JSON.stringify(item.grown.map(({ day, at, seconds }) => [day, at, seconds]));
  return { ...item, lastDay: lastMoment(item).day, grown };
}

export function toItem({ taskId, isDone, doneDay, doneAt, labels, seconds, grown }: ItemColumns): Item {
  const growth = JSON.parse(grown) as [Day, string, number][];
  return {
    taskId,
    isDone,
    doneDay,
    doneAt,
    labels,
    seconds,
    grown: growth.map(([day, at, some]) => ({ day, at, seconds: some })),
  };
}

/** Some days of some trainers. */
export interface WorkSpan {
  trainerIds: readonly string[];
  /** Earlier days are left out. */
  fromDay: Day;
}

/** The observed days of these trainers, and their first totals. */
export async function toolObservations(
  database: Database,
  db: Transaction,
  { trainerIds, fromDay }: WorkSpan,
): Promise<Observation[]> {
  const ofThem = jsonTexts(database, trainerIds);
  const days = db.selectFrom('usageDay').selectAll().where('trainerId', 'in', ofThem).where('day', '>=', fromDay);
  const people = db.selectFrom('usagePerson').selectAll().where('trainerId', 'in', ofThem);
  const firsts = (await people.where('totals', 'like', '%"first":%').execute()).flatMap(toFirstTotal);
  return [
    ...(await days.orderBy('day').orderBy('trainerId').execute()).map(toObservation),
    ...firsts.filter(({ day }) => day >= fromDay),
  ];
}

function toObservation({ isFrozen, isTorn, ...row }: Row<'usageDay'>): Observation {
  const { day, seenAt, seconds, tasks, labels } = row;
  return { ...toSource(row), day, seenAt, counts: { seconds, tasks, labels }, isFrozen, isTorn };
}

function toFirstTotal(row: Row<'usagePerson'>): Observation[] {
  const first = totalsOf(row)?.first;
  if (first === undefined) return [];
  const { day, at: seenAt, counts } = first;
  return [{ ...toSource(row), day, seenAt, counts, isFirstTotal: true }];
}

function toSource({
  tool,
  scope,
  memberId,
  trainerId,
}: Pick<Row<'usagePerson'>, 'tool' | 'scope' | 'memberId' | 'trainerId'>) {
  return { source: `tool:${tool}`, workedOn: { by: 'scope', tool, scope } as const, trainerId, memberId };
}

/** The moments of a day's work. Empty if the source has no single pieces. */
export async function listMoments(db: Transaction, { workedOn, memberId, day }: Observation): Promise<Moment[]> {
  if (workedOn.by !== 'scope' || memberId === undefined) return [];
  const rows = await db
    .selectFrom('usageItem')
    .selectAll()
    .where((eb) => eb.and({ tool: workedOn.tool, scope: workedOn.scope, memberId }))
    .where('lastDay', '>=', day)
    .where((eb) => eb.or([eb('doneDay', '=', day), eb('grown', 'like', `%"${day}"%`)]))
    .execute();
  return rows.flatMap((row) => momentsOf(toItem(row), day));
}

/** Items go first, because the table of people says whose they are. */
const tables = ['usage_item', 'usage_day', 'usage_person'] as const;

/**
 * Deletes what was read of a trainer's work, because a tool's ids may be addresses. The ledger stays, and nothing that
 * was reported is lowered.
 *
 * @param kept work that is read through these memberships stays
 * @returns how many rows
 */
export async function clearWorkTraces(tx: Transaction, trainerId: string, kept: readonly number[]): Promise<number> {
  let deleted = 0;
  for (const table of tables) {
    const query = sql`delete from ${sql.table(table)} as t where ${isOf(table, trainerId, kept)}`;
    deleted += Number((await query.execute(tx)).numAffectedRows ?? 0n);
  }
  await markWorkStale(tx, [{ trainerId, fromDay: '' }]);
  return deleted;
}

/** Whether a row is the trainer's, and no kept membership has them work in its scope. */
function isOf(table: (typeof tables)[number], trainerId: string, kept: readonly number[]): RawBuilder<SqlBool> {
  const isTheirs =
    table === 'usage_item'
      ? sql`exists (select 1 from usage_person p where p.tool = t.tool and p.scope = t.scope
          and p.member_id = t.member_id and p.trainer_id = ${trainerId})`
      : sql`t.trainer_id = ${trainerId}`;
  if (kept.length === 0) return sql`${isTheirs}`;
  return sql`${isTheirs} and not exists (
    select 1 from usage_scope_group worked
    join membership on membership.tool = worked.tool and membership.group_id = worked.group_id
    where membership.id in (${sql.join(kept)}) and worked.tool = t.tool and worked.scope = t.scope)`;
}
