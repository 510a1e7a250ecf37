import type { Transaction } from '../../db/database.ts';
import { inParts } from '../../db/key-in.ts';
import type { Tables } from '../../db/tables.ts';
import type { Counts, Day } from '../../domain/usage.ts';
import { toItem } from './item-row.ts';
import type { Item } from './merge-items.ts';
import type { MemberWork, ObservedDay, Totals } from './merge-work.ts';
import type { ScopeMember } from './scope-member-store.ts';
import type { ScopeKey } from './scope-store.ts';

/** The SQL that reads what is known of members' work: of one, or of many at once. */

export interface MemberKey extends ScopeKey {
  memberId: string;
}

/** What is remembered of a person in a scope. */
export type PersonRow = Pick<Tables['usagePerson'], 'trainerId' | 'generation' | 'totals' | 'fallenSince'>;

/** By the tool's id. */
export async function loadPeople(db: Transaction, { tool, scope }: ScopeKey, members: readonly ScopeMember[]) {
  const people = new Map<string, PersonRow>();
  for (const part of inParts(members.map(({ memberId }) => memberId))) {
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
export async function loadGenerations(db: Transaction, members: readonly ScopeMember[]): Promise<Map<number, number>> {
  const generations = new Map<number, number>();
  for (const part of inParts(members.map(({ membershipId }) => membershipId))) {
    const rows = await db.selectFrom('membership').select(['id', 'generation']).where('id', 'in', part).execute();
    for (const { id, generation } of rows) generations.set(id, generation);
  }
  return generations;
}

interface SteadyMember {
  member: ScopeMember;
  totals: Totals | null;
}

/** As `loadWork`, for many at once, by the tool's id. */
export async function loadWorks(
  db: Transaction,
  { tool, scope }: ScopeKey,
  steady: readonly SteadyMember[],
  firstDay: Day,
): Promise<Map<string, MemberWork>> {
  const works = new Map<string, MemberWork & { items: Map<string, Item>; days: Map<Day, ObservedDay> }>();
  for (const { member, totals } of steady) works.set(member.memberId, { items: new Map(), totals, days: new Map() });
  const earliest = steady
    .map(({ totals }) => earliestDay(firstDay, totals))
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

export function totalsOf({ totals }: Pick<PersonRow, 'totals'>): Totals | null {
  return totals === null ? null : (JSON.parse(totals) as Totals);
}

/** Of one member, under whichever id it is kept. */
export async function loadWork(
  tx: Transaction,
  key: MemberKey,
  firstDay: Day,
  totals: Totals | null,
): Promise<MemberWork> {
  const items = await tx
    .selectFrom('usageItem')
    .selectAll()
    .where((eb) => eb.and(key))
    .where('lastDay', '>=', firstDay)
    .execute();
  const days = await tx
    .selectFrom('usageDay')
    .selectAll()
    .where((eb) => eb.and(key))
    .where('day', '>=', earliestDay(firstDay, totals))
    .execute();
  return {
    items: new Map(items.map((row) => [row.itemId, toItem(row)])),
    totals,
    days: new Map(days.map((row) => [row.day, toSeen(row)])),
  };
}

function toSeen(row: Counts & { isFrozen: number; isTorn: number }): ObservedDay {
  const { seconds, tasks, labels, isFrozen, isTorn } = row;
  return { counts: { seconds, tasks, labels }, isFrozen: isFrozen === 1, isTorn: isTorn === 1 };
}
