import { isDeepStrictEqual } from 'node:util';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { jsonTexts } from '../../db/json-list.ts';
import { inParts } from '../../db/key-in.ts';
import { type Counts, type Day, noCounts } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';
import { lookAtSettled } from '../../memberships/look-store.ts';
import { toItemColumns } from './item-row.ts';
import { loadGenerations, loadPeople, loadWorks, totalsOf } from './load-work.ts';
import type { Item } from './merge-items.ts';
import { type MemberWork, noWork, type ObservedDay, type Totals } from './merge-work.ts';
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

/** The members whose work was seen in a scope. */
export async function seenAt(ctx: Storage, { tool, scope }: ScopeKey): Promise<Set<string>> {
  const rows = await ctx.database.kysely
    .selectFrom('usagePerson')
    .select('memberId')
    .where('tool', '=', tool)
    .where('scope', '=', scope)
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

/**
 * The members with work that `change` makes different from what is known, and those that only `update` can judge. All
 * are looked up together, because most readings bring little that is new.
 */
export async function findChangedWork(
  ctx: Storage,
  claim: ScopeClaim,
  members: readonly ScopeMember[],
  { firstDay, now }: { firstDay: Day; now: string },
  change: (member: ScopeMember, known: MemberWork) => MemberWork,
): Promise<ScopeMember[]> {
  const ids = members.map(({ memberId }) => memberId);
  const people = await loadPeople(ctx.database.kysely, claim, ids);
  const generations = await loadGenerations(
    ctx.database.kysely,
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
  const totals = new Map(steady.map(({ member, person }) => [member.memberId, totalsOf(person)]));
  const works = await loadWorks(ctx.database.kysely, claim, totals, firstDay);
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

/** Makes what is known of a member's work into what is known now. `hasEnded`: the membership has ended since. */
export type WorkChange = (member: ScopeMember, known: MemberWork, hasEnded: boolean) => MemberWork;

/**
 * Changes what is known of these members' work in one transaction, while the claim holds.
 *
 * @returns false where the claim no longer holds
 */
export function updateWork(
  ctx: Storage,
  claim: ScopeClaim,
  members: readonly ScopeMember[],
  window: { firstDay: Day; now: string },
  change: WorkChange,
): Promise<boolean> {
  return inTransaction(ctx.database, async (tx) => {
    if (!(await holds(tx, claim, window.now))) return false;
    for (const member of members) await updateMember(tx, claim, member, window, change);
    return true;
  });
}

async function updateMember(
  tx: Transaction,
  scope: ScopeKey,
  member: ScopeMember,
  { firstDay, now }: { firstDay: Day; now: string },
  change: WorkChange,
): Promise<void> {
  const { key, person } = await findPerson(tx, scope, member);
  const generation = (await loadGenerations(tx, [member.membershipId])).get(member.membershipId) ?? -1;
  const isSame = generation === member.generation;
  const hasEnded = person !== undefined && person.generation !== generation;
  const totals = new Map([[key.memberId, totalsOf(person)]]);
  const known = (await loadWorks(tx, scope, totals, firstDay)).get(key.memberId) ?? noWork;
  // The membership has changed since the tool was asked, so absence from the reading means nothing.
  const work = change(member, known, hasEnded || !isSame);
  const { trainerId } = member;
  const remembered = { trainerId, generation, ...toTotalColumns(work, person, now) };
  await tx
    .insertInto('usagePerson')
    .values({ ...key, ...remembered })
    .onConflict((conflict) => conflict.columns(['tool', 'scope', 'memberId']).doUpdateSet(remembered))
    .execute();
  await saveItems(tx, key, known, work);
  await saveDays(tx, key, { trainerId, seenAt: now }, known, work);
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
async function findPerson(tx: Transaction, { tool, scope }: ScopeKey, member: ScopeMember) {
  const { memberId, trainerId, isShared = false } = member;
  const key = { tool, scope, memberId };
  const person = (await loadPeople(tx, key, [memberId])).get(memberId);
  if (person === undefined || person.trainerId === trainerId || isShared) return { key, person };
  const apart = { ...key, memberId: `${memberId} of ${trainerId}` };
  return { key: apart, person: (await loadPeople(tx, key, [apart.memberId])).get(apart.memberId) };
}

async function holds(tx: Transaction, claim: ScopeClaim, now: string): Promise<boolean> {
  const row = await tx
    .selectFrom('usageScope')
    .select('tool')
    .where('tool', '=', claim.tool)
    .where('scope', '=', claim.scope)
    .where('leaseToken', '=', claim.token)
    .where('leasedUntil', '>', now)
    .executeTakeFirst();
  return row !== undefined;
}

async function saveItems(tx: Transaction, key: MemberKey, before: MemberWork, after: MemberWork) {
  const changed = [...after.items].filter(([id, item]) => !isSame(before.items.get(id), item));
  const rows = changed.map(([itemId, item]) => ({ ...key, itemId, ...toItemColumns(item) }));
  for (const part of inParts(rows)) {
    await tx
      .insertInto('usageItem')
      .values(part)
      .onConflict((conflict) =>
        conflict.columns(['tool', 'scope', 'memberId', 'itemId']).doUpdateSet((eb) => ({
          taskId: eb.ref('excluded.taskId'),
          isDone: eb.ref('excluded.isDone'),
          doneDay: eb.ref('excluded.doneDay'),
          doneAt: eb.ref('excluded.doneAt'),
          lastDay: eb.ref('excluded.lastDay'),
          labels: eb.ref('excluded.labels'),
          seconds: eb.ref('excluded.seconds'),
          grown: eb.ref('excluded.grown'),
        })),
      )
      .execute();
  }
  const gone = [...before.items.keys()].filter((id) => !after.items.has(id));
  for (const part of inParts(gone)) {
    await tx
      .deleteFrom('usageItem')
      .where((eb) => eb.and(key))
      .where('itemId', 'in', part)
      .execute();
  }
}

async function saveDays(
  tx: Transaction,
  key: MemberKey,
  seen: { trainerId: string; seenAt: string },
  before: MemberWork,
  after: MemberWork,
) {
  const changed = [...after.days].filter(([day, one]) => !isSame(before.days.get(day), one));
  const rows = changed.map(([day, { counts, isFrozen, isTorn }]) => ({
    ...key,
    day,
    ...seen,
    ...counts,
    isFrozen,
    isTorn,
  }));
  for (const part of inParts(rows)) {
    await tx
      .insertInto('usageDay')
      .values(part)
      .onConflict((conflict) =>
        conflict.columns(['tool', 'scope', 'memberId', 'day']).doUpdateSet((eb) => ({
          trainerId: eb.ref('excluded.trainerId'),
          seconds: eb.ref('excluded.seconds'),
          tasks: eb.ref('excluded.tasks'),
          labels: eb.ref('excluded.labels'),
          isFrozen: eb.ref('excluded.isFrozen'),
          isTorn: eb.ref('excluded.isTorn'),
          seenAt: eb.ref('excluded.seenAt'),
        })),
      )
      .execute();
  }
}

function areSame<T extends Item | ObservedDay>(a: ReadonlyMap<string, T>, b: ReadonlyMap<string, T>): boolean {
  return a.size === b.size && [...b].every(([key, one]) => isSame(a.get(key), one));
}

function isSame(a: Item | ObservedDay | undefined, b: Item | ObservedDay): boolean {
  return a === b || isDeepStrictEqual(a, b);
}
