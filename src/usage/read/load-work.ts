import type { Transaction } from '../../db/database.ts';
import { inParts } from '../../db/key-in.ts';
import type { Row } from '../../db/schema.ts';
import type { Counts, Day } from '../../domain/usage.ts';
import { toItem } from './item-row.ts';
import type { Item } from './merge-items.ts';
import type { MemberWork, ObservedDay, Totals } from './merge-work.ts';
import type { ScopeKey } from './scope-store.ts';

/** The SQL that reads what is known of members' work, of one or of many at once. */

/** What is remembered of a person in a scope. */
export type PersonRow = Pick<Row<'usagePerson'>, 'trainerId' | 'generation' | 'totals' | 'fallenSince'>;

/** By the tool's id. */
export async function loadPeople(db: Transaction, { tool, scope }: ScopeKey, memberIds: readonly string[]) {
  const people = new Map<string, PersonRow>();
  for (const part of inParts(memberIds)) {
    const rows = db
      .selectFrom('usagePerson')
      .select(['memberId', 'trainerId', 'generation', 'totals', 'fallenSince'])
      .where('tool', '=', tool)
      .where('scope', '=', scope)
      .where('memberId', 'in', part);
    for (const row of await rows.execute()) people.set(row.memberId, row);
  }
  return people;
}

/** By the id of the membership. */
export async function loadGenerations(db: Transaction, ids: readonly number[]): Promise<Map<number, number>> {
  const generations = new Map<number, number>();
  for (const part of inParts(ids)) {
    const rows = await db.selectFrom('membership').select(['id', 'generation']).where('id', 'in', part).execute();
    for (const { id, generation } of rows) generations.set(id, generation);
  }
  return generations;
}

/** By the tool's id; each of these has an entry. */
export async function loadWorks(
  db: Transaction,
  { tool, scope }: ScopeKey,
  people: ReadonlyMap<string, Totals | null>,
  firstDay: Day,
): Promise<Map<string, MemberWork>> {
  const works = new Map<string, MemberWork & { items: Map<string, Item>; days: Map<Day, ObservedDay> }>();
  for (const [id, totals] of people) works.set(id, { items: new Map(), totals, days: new Map() });
  const earliest = [...people.values()]
    .map((totals) => earliestDay(firstDay, totals))
    .reduce((a, b) => (a < b ? a : b), firstDay);
  for (const part of inParts([...works.keys()])) {
    const items = db.selectFrom('usageItem').selectAll().where('tool', '=', tool).where('scope', '=', scope);
    for (const row of await items.where('memberId', 'in', part).where('lastDay', '>=', firstDay).execute()) {
      works.get(row.memberId)?.items.set(row.itemId, toItem(row));
    }
    const days = db.selectFrom('usageDay').selectAll().where('tool', '=', tool).where('scope', '=', scope);
    for (const row of await days.where('memberId', 'in', part).where('day', '>=', earliest).execute()) {
      const work = works.get(row.memberId);
      if (work !== undefined && row.day >= earliestDay(firstDay, work.totals)) work.days.set(row.day, toSeen(row));
    }
  }
  return works;
}

/** The last day of a total is needed, however long ago it was. */
function earliestDay(firstDay: Day, totals: Totals | null): Day {
  return totals !== null && totals.day < firstDay ? totals.day : firstDay;
}

export function totalsOf(person: Pick<PersonRow, 'totals'> | undefined): Totals | null {
  const text = person?.totals ?? null;
  return text === null ? null : (JSON.parse(text) as Totals);
}

function toSeen(row: Counts & { isFrozen: boolean; isTorn: boolean }): ObservedDay {
  const { seconds, tasks, labels, isFrozen, isTorn } = row;
  return { counts: { seconds, tasks, labels }, isFrozen, isTorn };
}
