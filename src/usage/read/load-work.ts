import type { Transaction } from '../../db/database.ts';
import { inParts, keyIn } from '../../db/query.ts';
import type { Row } from '../../db/schema.ts';
import type { Counts, Day } from '../../domain/usage.ts';
import { type Item, lastMoment } from './merge-items.ts';
import type { MemberWork, ObservedDay, Standing, Totals } from './merge-work.ts';
import type { ScopeKey } from './scope-store.ts';

/** The SQL that reads what is known of members' work, of one or of many at once. */

/** By the tool's id. */
export async function loadPeople(db: Transaction, { tool, scope }: ScopeKey, memberIds: readonly string[]) {
  const people = new Map<string, Row<'usagePerson'>>();
  for (const part of inParts(memberIds)) {
    const rows = db.selectFrom('usagePerson').selectAll().where('tool', '=', tool).where('scope', '=', scope);
    for (const row of await rows.where('memberId', 'in', part).execute()) people.set(row.memberId, row);
  }
  return people;
}

/** Whose work is needed, and which pieces of it, however old these are. */
export interface WantedWork {
  totals: Totals | null;
  itemIds: readonly string[];
}

/** By the tool's id; each of these has an entry. Of earlier days there are only the wanted pieces. */
export async function loadWorks(
  db: Transaction,
  { tool, scope }: ScopeKey,
  people: ReadonlyMap<string, WantedWork>,
  firstDay: Day,
): Promise<Map<string, MemberWork>> {
  const works = new Map<string, MemberWork & { items: Map<string, Item>; days: Map<Day, ObservedDay> }>();
  for (const [id, { totals }] of people) works.set(id, { items: new Map(), totals, strange: [], days: new Map() });
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

/** The last day of a total is needed, however long ago it was. */
function earliestDay(firstDay: Day, totals: Totals | null): Day {
  return totals !== null && totals.day < firstDay ? totals.day : firstDay;
}

export function totalsOf(person: Pick<Row<'usagePerson'>, 'totals'> | undefined): Totals | null {
  const text = person?.totals ?? null;
  return text === null ? null : (JSON.parse(text) as Totals);
}

/** What the total of an account was while it belonged to no trainer. */
export function standingsOf(person: Pick<Row<'usagePerson'>, 'totals'> | undefined): Standing[] {
  return JSON.parse(person?.totals ?? '[]') as Standing[];
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
