import { isDeepStrictEqual } from 'node:util';
import type { UsageObservation } from '../../adapters/adapter.ts';
import type { Storage } from '../../context.ts';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { inParts, jsonTexts, upsert } from '../../db/query.ts';
import type { Row } from '../../db/schema.ts';
import type { Day } from '../../domain/usage.ts';
import { markWorkStale } from '../../memberships/derivation-store.ts';
import { changedDays, firstDayOf } from './merge-items.ts';
import { type MemberWork, noWork, type ReadTotal } from './merge-work.ts';
import type { ScopeMember } from './scope-member-store.ts';
import type { ReadScope, ScopeKey } from './scope-store.ts';
import { loadPeople, loadWorks, readTotalsOf, toItemColumns, totalsOf, type WorkSelection } from './work-store.ts';

// The SQL that changes stored work: its items and its days.

/** The members of a scope whose work was seen while their account was a trainer's. */
export async function seenAt(ctx: Storage, { tool, scope }: ScopeKey): Promise<Set<string>> {
  const rows = await ctx.database.kysely
    .selectFrom('usagePerson')
    .select('memberId')
    .where((eb) => eb.and({ tool, scope }))
    .where('trainerId', '<>', '')
    .execute();
  return new Set(rows.map(({ memberId }) => memberId));
}

/** A member, and what a reading has of them. */
export interface ReadMember extends ScopeMember {
  observations: readonly UsageObservation[];
  /** Whether what the reading does not list is gone. */
  canLower: boolean;
  /** Pieces from before the reading's first day that are gone. */
  gone: ReadonlySet<string>;
}

interface ReadingTime {
  /** Of earlier days, only pieces that the reading names are needed. */
  firstDay: Day;
  now: string;
}

/** Returns a member's work after a reading. `hasEnded`: the membership has ended since. */
export type WorkChange = (member: ReadMember, known: MemberWork, hasEnded: boolean) => MemberWork;

type MemberKey = ScopeKey & { memberId: string };

interface StoredMember {
  member: ReadMember;
  key: MemberKey;
  person: Row<'usagePerson'> | undefined;
  /** Earlier totals, while the account belonged to no trainer. */
  earlierTotals: readonly ReadTotal[];
  generation: number;
  hasEnded: boolean;
}

interface ChangedWork extends StoredMember {
  known: MemberWork;
  work: MemberWork;
}

/** Finds members whose work `change` alters. It loads all of them together, because most readings bring little news. */
export async function findChangedWork(
  db: Transaction,
  scope: ScopeKey,
  members: readonly ReadMember[],
  { firstDay, now }: ReadingTime,
  change: WorkChange,
): Promise<ChangedWork[]> {
  const all = await loadStored(db, scope, members);
  const load = (some: readonly StoredMember[], from: Day) => {
    const wanted = some.map(({ member, key, person }): [string, WorkSelection] => {
      return [key.memberId, { totals: totalsOf(person), itemIds: itemIdsOf(member) }];
    });
    return loadWorks(db, scope, new Map(wanted), from);
  };
  const works = await load(all, firstDay);
  const merge = (one: StoredMember): ChangedWork => {
    const known = { ...(works.get(one.key.memberId) ?? noWork), earlierTotals: one.earlierTotals };
    return { ...one, known, work: change(one.member, known, one.hasEnded) };
  };
  const changed = all.map(merge).filter((one) => isChanged(one, now));
  const older = changed.flatMap((one) => {
    const first = firstNeededDay(one);
    return first !== undefined && first < firstDay ? [{ one, first }] : [];
  });
  if (older.length === 0) return changed;
  const [earliest = firstDay] = older.map(({ first }) => first).sort();
  const more = await load(
    older.map(({ one }) => one),
    earliest,
  );
  for (const [memberId, work] of more) works.set(memberId, work);
  return changed.map(merge);
}

/** The end of a membership freezes all its days. Otherwise all days since the first changed piece are needed. */
function firstNeededDay({ member, hasEnded, known }: ChangedWork): Day | undefined {
  return hasEnded ? '' : firstDayOf(itemIdsOf(member).flatMap((id) => known.items.get(id) ?? []));
}

/** The pieces that the reading names. */
function itemIdsOf({ observations, gone }: ReadMember): string[] {
  return [...observations.flatMap((one) => (one.of === 'item' ? one.itemId : [])), ...gone];
}

async function loadStored(
  db: Transaction,
  { tool, scope }: ScopeKey,
  members: readonly ReadMember[],
): Promise<StoredMember[]> {
  const people = await loadPeople(
    db,
    { tool, scope },
    members.flatMap((member) => [member.memberId, idApart(member)]),
  );
  const generations = new Map<number, number>();
  for (const part of inParts(members.map(({ membershipId }) => membershipId))) {
    const rows = await db.selectFrom('membership').select(['id', 'generation']).where('id', 'in', part).execute();
    for (const { id, generation } of rows) generations.set(id, generation);
  }
  return members.map((member) => {
    const { memberId, person, earlierTotals } = findPerson(people, member);
    const generation = generations.get(member.membershipId) ?? -1;
    // If the membership has changed since the tool was asked, absence proves nothing.
    const hasEnded = generation !== member.generation || (person !== undefined && person.generation !== generation);
    return { member, key: { tool, scope, memberId }, person, earlierTotals, generation, hasEnded };
  });
}

/** Two trainers may have had the same id one after the other. Their work is kept apart. */
function findPerson(
  people: ReadonlyMap<string, Row<'usagePerson'>>,
  member: ScopeMember,
): Pick<StoredMember, 'person' | 'earlierTotals'> & { memberId: string } {
  const { memberId, trainerId, isShared = false } = member;
  const person = people.get(memberId);
  if (person?.trainerId === '') return { memberId, person: undefined, earlierTotals: readTotalsOf(person) };
  if (person === undefined || person.trainerId === trainerId || isShared)
    return { memberId, person, earlierTotals: [] };
  return { memberId: idApart(member), person: people.get(idApart(member)), earlierTotals: [] };
}

function idApart({ memberId, trainerId }: ScopeMember): string {
  return `${memberId} of ${trainerId}`;
}

function isChanged(one: ChangedWork, now: string): boolean {
  const { known, work, person } = one;
  const isRemembered = person !== undefined && isDeepStrictEqual({ ...person, ...toRemembered(one, now) }, person);
  return !isRemembered || !isDeepStrictEqual([known.items, known.days], [work.items, work.days]);
}

function toRemembered({ member: { trainerId }, person, generation, work: { totals } }: ChangedWork, now: string) {
  return {
    trainerId,
    generation,
    totals: totals === null ? null : JSON.stringify(totals),
    fallenSince: totals?.fallen === undefined ? null : (person?.fallenSince ?? now),
  };
}

/** By the tool's id: the pieces that these members did before a day. */
export async function listOldItems(
  ctx: Storage,
  { tool, scope }: ScopeKey,
  memberIds: readonly string[],
  firstDay: Day,
): Promise<Map<string, { itemId: string; taskId: string }[]>> {
  const rows = await ctx.database.kysely
    .selectFrom('usageItem')
    .select(['memberId', 'itemId', 'taskId'])
    .where((eb) => eb.and({ tool, scope }))
    .where('memberId', 'in', jsonTexts(ctx.database, memberIds))
    .where('doneDay', '<', firstDay)
    .execute();
  return Map.groupBy(rows, ({ memberId }) => memberId);
}

export function updateWork(
  ctx: Storage,
  reading: ReadScope,
  members: readonly ReadMember[],
  time: ReadingTime,
  change: WorkChange,
): Promise<void> {
  return inTransaction(ctx.database, async (tx) => {
    await reading.hold.confirm(tx);
    const stale = new Map<string, Day>();
    for (const one of await findChangedWork(tx, reading, members, time, change)) {
      await saveWork(tx, one, time.now);
      const { trainerId } = one.member;
      const days = [firstChangedDay(one), stale.get(trainerId)].flatMap((day) => day ?? []);
      for (const day of days.sort().slice(0, 1)) stale.set(trainerId, day);
    }
    const rows = [...stale].map(([trainerId, fromDay]) => ({ trainerId, fromDay }));
    await markWorkStale(tx, rows);
  });
}

async function saveWork(tx: Transaction, one: ChangedWork, now: string): Promise<void> {
  const { key, member, known, work } = one;
  await upsert(tx, 'usagePerson', ['tool', 'scope', 'memberId'], [{ ...key, ...toRemembered(one, now) }]);
  await saveItems(tx, key, known, work);
  await saveDays(tx, key, { trainerId: member.trainerId, seenAt: now }, known, work);
}

/** The first day whose counts changed. */
function firstChangedDay({ known, work }: ChangedWork): Day | undefined {
  const days = [...work.days].flatMap(([day, one]) => (isDeepStrictEqual(known.days.get(day), one) ? [] : [day]));
  const [was, is] = [known.totals?.first, work.totals?.first];
  const firsts = isDeepStrictEqual(was, is) ? [] : [was, is].flatMap((first) => first?.day ?? []);
  const pieces = [...changedDays(known.items, work.items), ...changedDays(work.items, known.items)];
  return [...days, ...firsts, ...pieces].sort()[0];
}

async function saveItems(tx: Transaction, key: MemberKey, before: MemberWork, after: MemberWork): Promise<void> {
  const changed = [...after.items].filter(([id, item]) => !isDeepStrictEqual(before.items.get(id), item));
  const gone = [...before.items.keys()].filter((id) => !after.items.has(id));
  for (const part of inParts([...gone, ...changed.map(([id]) => id)])) {
    const stored = tx.deleteFrom('usageItem').where((eb) => eb.and({ ...key }));
    await stored.where('itemId', 'in', part).execute();
  }
  const rows = changed.map(([itemId, item]) => ({ ...key, itemId, ...toItemColumns(item) }));
  for (const part of inParts(rows)) await tx.insertInto('usageItem').values(part).execute();
}

/** A day is never deleted. */
async function saveDays(
  tx: Transaction,
  key: MemberKey,
  seen: { trainerId: string; seenAt: string },
  before: MemberWork,
  after: MemberWork,
): Promise<void> {
  const changed = [...after.days].filter(([day, one]) => !isDeepStrictEqual(before.days.get(day), one));
  for (const part of inParts(changed.map(([day]) => day))) {
    const stored = tx.deleteFrom('usageDay').where((eb) => eb.and({ ...key }));
    await stored.where('day', 'in', part).execute();
  }
  const rows = changed.map(([day, { counts, ...flags }]) => ({ ...key, day, ...seen, ...counts, ...flags }));
  for (const part of inParts(rows)) await tx.insertInto('usageDay').values(part).execute();
}
