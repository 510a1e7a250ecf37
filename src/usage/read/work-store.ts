import { isDeepStrictEqual } from 'node:util';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { jsonTexts } from '../../db/json-list.ts';
import { inParts } from '../../db/key-in.ts';
import { AppError } from '../../domain/errors.ts';
import { type Counts, type Day, noCounts } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';
import { lookAtSettled } from '../../memberships/look-store.ts';
import { markWorkStale } from '../../memberships/stale-work-store.ts';
import {
  loadGenerations,
  loadPeople,
  loadWorks,
  type PersonRow,
  standingsOf,
  toItemColumns,
  totalsOf,
} from './load-work.ts';
import { changedDays, firstDayOf, type Item } from './merge-items.ts';
import { type MemberWork, noWork, type ObservedDay, type Standing, type Totals } from './merge-work.ts';
import type { ScopeMember } from './scope-member-store.ts';
import type { ScopeClaim, ScopeKey } from './scope-store.ts';

// The SQL of the work that was seen: its items and its days.

/** A running total that is below what was counted. */
export interface FallenTotal extends ScopeKey {
  trainerId: string;
  since: string;
  /** How far it is below. */
  fallen: Counts;
}

/** Has converge look at the wanted ones of these members in the tool. */
export async function lookAgainAtMembers(ctx: Storage, members: readonly ScopeMember[], now: string): Promise<void> {
  if (members.length === 0) return;
  await inTransaction(ctx.database, async (tx) => {
    for (const { membershipId } of members) await lookAtSettled(tx, membershipId, now);
  });
}

/** The members whose work was seen in a scope since their account is a trainer's. */
export async function seenAt(ctx: Storage, { tool, scope }: ScopeKey): Promise<Set<string>> {
  const rows = await ctx.database.kysely
    .selectFrom('usagePerson')
    .select('memberId')
    .where('tool', '=', tool)
    .where('scope', '=', scope)
    .where('trainerId', '<>', '')
    .execute();
  return new Set(rows.map(({ memberId }) => memberId));
}

/** Totals that are below what was counted while the trainer is in: of these trainers, or of all. */
export async function listFallenTotals(ctx: Storage, trainerIds?: readonly string[]): Promise<FallenTotal[]> {
  let all = ctx.database.kysely
    .selectFrom('usagePerson')
    .select(['tool', 'scope', 'trainerId', 'fallenSince', 'totals'])
    .where('fallenSince', 'is not', null)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('membership')
          .select('membership.id')
          .whereRef('membership.tool', '=', 'usagePerson.tool')
          .whereRef('membership.memberId', '=', 'usagePerson.memberId')
          .where('membership.wanted', '=', true),
      ),
    );
  if (trainerIds !== undefined) all = all.where('trainerId', 'in', jsonTexts(ctx.database, trainerIds));
  const rows = await all.orderBy('tool').orderBy('scope').orderBy('trainerId').execute();
  return rows.map(({ fallenSince, totals, ...of }) => {
    const { fallen = noCounts } = JSON.parse(totals ?? '{}') as Partial<Totals>;
    return { ...of, since: fallenSince ?? '', fallen };
  });
}

/** What a reading brings: which days and pieces it needs to be known, and when it is stored. */
export interface MergedReading {
  /** Of earlier days only what the reading names is needed. */
  firstDay: Day;
  now: string;
  /** The pieces that the reading names of a member. */
  itemIdsOf(member: ScopeMember): string[];
}

/**
 * The members with work that `change` makes different from what is known, and those that only `update` can judge. All
 * are looked up together, because most readings bring little that is new.
 */
export async function findChangedWork(
  ctx: Storage,
  claim: ScopeClaim,
  members: readonly ScopeMember[],
  { firstDay, now, itemIdsOf }: MergedReading,
  change: (member: ScopeMember, known: MemberWork) => MemberWork,
): Promise<ScopeMember[]> {
  const { kysely } = ctx.database;
  const people = await loadPeople(
    kysely,
    claim,
    members.map(({ memberId }) => memberId),
  );
  const generations = await loadGenerations(
    kysely,
    members.map(({ membershipId }) => membershipId),
  );
  // Members who are new, were removed since or share an account are for `update`.
  const steady = members.flatMap((member) => {
    const person = people.get(member.memberId);
    const isSteady =
      person?.trainerId === member.trainerId &&
      person.generation === member.generation &&
      generations.get(member.membershipId) === member.generation;
    return isSteady ? [{ member, person }] : [];
  });
  const wanted = new Map(
    steady.map(({ member, person }) => [member.memberId, { totals: totalsOf(person), itemIds: itemIdsOf(member) }]),
  );
  const works = await loadWorks(kysely, claim, wanted, firstDay);
  const unchanged = steady.filter(({ member, person }) => {
    const known = works.get(member.memberId) ?? noWork;
    const work = change(member, known);
    const columns = toTotalColumns(work, person, now);
    const isSameTotal = columns.totals === person.totals && columns.fallenSince === person.fallenSince;
    return isSameTotal && areSame(known.items, work.items) && areSame(known.days, work.days);
  });
  const settled = new Set(unchanged.map(({ member }) => member));
  return members.filter((member) => !settled.has(member));
}

/** By the tool's id of the member: the pieces that these members did before a day. */
export async function listOldItems(
  ctx: Storage,
  { tool, scope }: ScopeKey,
  memberIds: readonly string[],
  firstDay: Day,
): Promise<Map<string, { itemId: string; taskId: string }[]>> {
  const rows = await ctx.database.kysely
    .selectFrom('usageItem')
    .select(['memberId', 'itemId', 'taskId'])
    .where('tool', '=', tool)
    .where('scope', '=', scope)
    .where('memberId', 'in', jsonTexts(ctx.database, memberIds))
    .where('doneDay', '<', firstDay)
    .execute();
  return Map.groupBy(rows, ({ memberId }) => memberId);
}

/** Makes what is known of a member's work into what is known now. `hasEnded`: the membership has ended since. */
export type WorkChange = (member: ScopeMember, known: MemberWork, hasEnded: boolean) => MemberWork;

/** Changes what is known of these members' work in one transaction. */
export function updateWork(
  ctx: Storage,
  claim: ScopeClaim,
  members: readonly ScopeMember[],
  reading: MergedReading,
  change: WorkChange,
): Promise<void> {
  return inTransaction(ctx.database, async (tx) => {
    await refuseLost(tx, claim, reading.now);
    const stale = new Map<string, Day>();
    for (const member of members) {
      const changed = await updateMember(tx, claim, member, reading, change);
      const known = stale.get(member.trainerId);
      if (changed !== undefined && !(known !== undefined && known <= changed)) stale.set(member.trainerId, changed);
    }
    const rows = [...stale].map(([trainerId, fromDay]) => ({ trainerId, fromDay }));
    await markWorkStale(tx, rows);
  });
}

/** @returns the first day on which something changed that counts */
async function updateMember(
  tx: Transaction,
  scope: ScopeKey,
  member: ScopeMember,
  reading: MergedReading,
  change: WorkChange,
): Promise<Day | undefined> {
  const { now } = reading;
  const { trainerId } = member;
  const { key, person, strange } = await findPerson(tx, scope, member);
  const generation = (await loadGenerations(tx, [member.membershipId])).get(member.membershipId) ?? -1;
  // If the membership has changed since the tool was asked, absence from the reading means nothing.
  const hasEnded = generation !== member.generation || (person !== undefined && person.generation !== generation);
  // The end of a membership freezes all its days, however old.
  const loaded = hasEnded ? { ...reading, firstDay: '' } : reading;
  const known = { ...(await loadWork(tx, key, totalsOf(person), loaded, member)), strange };
  const work = change(member, known, hasEnded);
  const remembered = { trainerId, generation, ...toTotalColumns(work, person, now) };
  await tx
    .insertInto('usagePerson')
    .values({ ...key, ...remembered })
    .onConflict((conflict) => conflict.columns(['tool', 'scope', 'memberId']).doUpdateSet(remembered))
    .execute();
  await saveItems(tx, key, known, work);
  await saveDays(tx, key, { trainerId, seenAt: now }, known, work);
  return firstChangedDay(known, work);
}

/** Where the reading names a piece that counts on earlier days, all work since its first day is loaded. */
async function loadWork(
  tx: Transaction,
  key: MemberKey,
  totals: Totals | null,
  { firstDay, itemIdsOf }: MergedReading,
  member: ScopeMember,
): Promise<MemberWork> {
  const itemIds = itemIdsOf(member);
  const load = async (from: Day) =>
    (await loadWorks(tx, key, new Map([[key.memberId, { totals, itemIds }]]), from)).get(key.memberId) ?? noWork;
  const work = await load(firstDay);
  const first = firstDayOf(itemIds.flatMap((id) => work.items.get(id) ?? []));
  return first !== undefined && first < firstDay ? await load(first) : work;
}

function firstChangedDay(before: MemberWork, after: MemberWork): Day | undefined {
  const days = [...after.days].flatMap(([day, one]) => (isSame(before.days.get(day), one) ? [] : [day]));
  const [was, is] = [before.totals?.first, after.totals?.first];
  const firsts = isDeepStrictEqual(was, is) ? [] : [was, is].flatMap((first) => first?.day ?? []);
  const pieces = [...changedDays(before.items, after.items), ...changedDays(after.items, before.items)];
  return [...days, ...firsts, ...pieces].sort()[0];
}

function toTotalColumns({ totals }: MemberWork, before: { fallenSince: string | null } | undefined, now: string) {
  const isFallen = totals?.fallen !== undefined;
  return {
    totals: totals === null ? null : JSON.stringify(totals),
    fallenSince: isFallen ? (before?.fallenSince ?? now) : null,
  };
}

interface MemberKey extends ScopeKey {
  memberId: string;
}

/** Keeps the work of two trainers apart who had the same id one after the other. */
async function findPerson(
  tx: Transaction,
  { tool, scope }: ScopeKey,
  { memberId, trainerId, isShared = false }: ScopeMember,
): Promise<{ key: MemberKey; person: PersonRow | undefined; strange: Standing[] }> {
  const key = { tool, scope, memberId };
  const person = (await loadPeople(tx, key, [memberId])).get(memberId);
  if (person?.trainerId === '') return { key, person: undefined, strange: standingsOf(person) };
  if (person === undefined || person.trainerId === trainerId || isShared) return { key, person, strange: [] };
  const apart = { ...key, memberId: `${memberId} of ${trainerId}` };
  return { key: apart, person: (await loadPeople(tx, key, [apart.memberId])).get(apart.memberId), strange: [] };
}

/** @throws AppError `unavailable` where the claim no longer holds */
export async function refuseLost(tx: Transaction, claim: ScopeClaim, now: string): Promise<void> {
  const row = await tx
    .selectFrom('usageScope')
    .select('tool')
    .where('tool', '=', claim.tool)
    .where('scope', '=', claim.scope)
    .where('leaseToken', '=', claim.token)
    .where('leasedUntil', '>', now)
    .executeTakeFirst();
  if (row === undefined) throw new AppError('unavailable', 'The reading took so long that another one started');
}

async function saveItems(tx: Transaction, key: MemberKey, before: MemberWork, after: MemberWork): Promise<void> {
  const changed = [...after.items].filter(([id, item]) => !isSame(before.items.get(id), item));
  const gone = [...before.items.keys()].filter((id) => !after.items.has(id));
  for (const part of inParts([...gone, ...changed.map(([id]) => id)])) {
    const stored = tx.deleteFrom('usageItem').where((eb) => eb.and({ ...key }));
    await stored.where('itemId', 'in', part).execute();
  }
  const rows = changed.map(([itemId, item]) => ({ ...key, itemId, ...toItemColumns(item) }));
  for (const part of inParts(rows)) await tx.insertInto('usageItem').values(part).execute();
}

/** No day is ever gone. */
async function saveDays(
  tx: Transaction,
  key: MemberKey,
  seen: { trainerId: string; seenAt: string },
  before: MemberWork,
  after: MemberWork,
): Promise<void> {
  const changed = [...after.days].filter(([day, one]) => !isSame(before.days.get(day), one));
  for (const part of inParts(changed.map(([day]) => day))) {
    const stored = tx.deleteFrom('usageDay').where((eb) => eb.and({ ...key }));
    await stored.where('day', 'in', part).execute();
  }
  const rows = changed.map(([day, { counts, ...flags }]) => ({ ...key, day, ...seen, ...counts, ...flags }));
  for (const part of inParts(rows)) await tx.insertInto('usageDay').values(part).execute();
}

function areSame<T extends Item | ObservedDay>(a: ReadonlyMap<string, T>, b: ReadonlyMap<string, T>): boolean {
  return a.size === b.size && [...b].every(([key, one]) => isSame(a.get(key), one));
}

function isSame(a: Item | ObservedDay | undefined, b: Item | ObservedDay): boolean {
  return a === b || isDeepStrictEqual(a, b);
}
