import { isDeepStrictEqual } from 'node:util';
import type { Context, Storage } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { jsonTexts, onSame, toExcluded } from '../../db/query.ts';
import { type Counts, noCounts } from '../../domain/usage.ts';
import { chunksOf } from '../../lib/lists.ts';
import type { Hire } from './merge-items.ts';
import type { ReadTotal, Totals } from './merge-work.ts';
import type { ScopeMember } from './scope-member-store.ts';
import { listEngagements, type ReadScope, type ScopeKey, scopeOfLink } from './scope-store.ts';
import { loadPeople, readTotalsOf } from './work-store.ts';

// The SQL of running totals, for tools that report only these.

/** How many totals of an account that belongs to no trainer are remembered. */
const keptTotals = 30;
/** Keeps a transaction short. */
const rowsAtOnce = 200;

/**
 * Remembers the totals of accounts that belong to no trainer, because a trainer may get such an account later.
 *
 * @param totals by the tool's id
 */
export async function rememberTotals(
  ctx: Storage,
  reading: ReadScope,
  totals: ReadonlyMap<string, ReadTotal>,
): Promise<void> {
  const { tool, scope } = reading;
  const people = await loadPeople(ctx.database.kysely, reading, [...totals.keys()]);
  const rows = [...totals].flatMap(([memberId, total]) => {
    const person = people.get(memberId);
    if (person !== undefined && person.trainerId !== '') return [];
    const known = readTotalsOf(person);
    if (isDeepStrictEqual(known.at(-1)?.counts, total.counts)) return [];
    const kept = JSON.stringify([...known, total].slice(-keptTotals));
    return [{ tool, scope, memberId, trainerId: '', generation: 0, totals: kept, fallenSince: null }];
  });
  for (const part of chunksOf(rows, rowsAtOnce)) {
    await inTransaction(ctx.database, async (tx) => {
      await reading.hold.confirm(tx);
      const insert = tx.insertInto('usagePerson').values(part);
      const strangers = insert.onConflict((conflict) =>
        conflict
          .columns(['tool', 'scope', 'memberId'])
          .doUpdateSet(toExcluded(['totals']))
          .where('usagePerson.trainerId', '=', ''),
      );
      await strangers.execute();
    });
  }
}

/** By membership id. */
export async function loadHires(
  ctx: Context,
  { tool, scope }: ScopeKey,
  members: readonly ScopeMember[],
): Promise<Map<number, Hire>> {
  if (members.length === 0) return new Map();
  const { database } = ctx;
  const trainerIds = [...new Set(members.map(({ trainerId }) => trainerId))];
  const starts = new Map<string, string>();
  for (const engagement of await listEngagements(database, database.kysely, trainerIds)) {
    const at = scopeOfLink(ctx, engagement);
    const { trainerId, startDate, startedEventAt } = engagement;
    const startsAt = startDate ?? startedEventAt;
    if (at?.tool !== tool || at.scope !== scope || startsAt === null) continue;
    const known = starts.get(trainerId);
    if (known === undefined || startsAt < known) starts.set(trainerId, startsAt);
  }
  const made = await findAccountsMade(ctx, tool, trainerIds);
  return new Map(
    members.map(({ membershipId, memberId, trainerId }) => {
      const startsAt = starts.get(trainerId) ?? null;
      const madeAt = made.get(JSON.stringify([trainerId, memberId]));
      const hasNewAccount = madeAt !== undefined && (startsAt === null || Date.parse(madeAt) >= Date.parse(startsAt));
      return [membershipId, { startsAt, hasNewAccount }];
    }),
  );
}

/** By trainer and the tool's id: when Gangway had made the account at the latest. */
async function findAccountsMade(
  { database }: Storage,
  tool: string,
  trainerIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await database.kysely
    .selectFrom('membership')
    .innerJoin('account', onSame('account', 'membership', ['tool', 'trainerId']))
    .innerJoin('receipt', 'receipt.membershipId', 'membership.id')
    .whereRef('account.accountId', '=', 'membership.memberId')
    .where('account.isOurs', '=', true)
    .where('membership.tool', '=', tool)
    .where('membership.trainerId', 'in', jsonTexts(database, trainerIds))
    .where('receipt.outcome', 'in', ['added', 'invited'])
    .groupBy(['membership.trainerId', 'membership.memberId'])
    .select((eb) => ['membership.trainerId', 'membership.memberId', eb.fn.min('receipt.createdAt').as('at')])
    .execute();
  return new Map(rows.map(({ trainerId, memberId, at }) => [JSON.stringify([trainerId, memberId]), at]));
}

/** Members whose total was never read, in scopes where the tool reports totals. */
export function listUnreadMembers(ctx: Storage, tool: string) {
  return ctx.database.kysely
    .selectFrom('membership')
    .innerJoin('usageScopeGroup', onSame('usageScopeGroup', 'membership', ['tool', 'groupId']))
    .innerJoin('usageScope', onSame('usageScope', 'usageScopeGroup', ['tool', 'scope']))
    .leftJoin('usagePerson', (join) =>
      join
        .onRef('usagePerson.tool', '=', 'usageScope.tool')
        .onRef('usagePerson.scope', '=', 'usageScope.scope')
        .onRef('usagePerson.memberId', '=', 'membership.memberId'),
    )
    .select(['membership.id as membershipId', 'usageScope.tool', 'usageScope.scope', 'membership.install'])
    .where('membership.tool', '=', tool)
    .where('membership.wanted', '=', true)
    .where('membership.state', 'in', ['active', 'invited'])
    .where('membership.memberId', 'is not', null)
    .where('membership.memberId', 'not like', 'invited:%')
    .where('usageScope.scope', 'in', (eb) =>
      eb
        .selectFrom('usagePerson')
        .select('usagePerson.scope')
        .where('usagePerson.tool', '=', tool)
        .where('usagePerson.totals', 'is not', null),
    )
    .where('usagePerson.tool', 'is', null)
    .execute();
}

/** A running total that is below what was counted. */
export interface FallenTotal extends ScopeKey {
  trainerId: string;
  since: string;
  /** How far it is below. */
  fallen: Counts;
}

/** Totals below what was counted, of trainers who are in: of these, or of all. */
export async function listFallenTotals(ctx: Storage, trainerIds?: readonly string[]): Promise<FallenTotal[]> {
  let all = ctx.database.kysely
    .selectFrom('usagePerson')
    .select(['tool', 'scope', 'trainerId', 'fallenSince', 'totals'])
    .where('fallenSince', 'is not', null)
    .where(({ exists, selectFrom }) => {
      const wanted = selectFrom('membership').select('membership.id').where('membership.wanted', '=', true);
      const ofAccount = wanted.whereRef('membership.memberId', '=', 'usagePerson.memberId');
      return exists(ofAccount.whereRef('membership.tool', '=', 'usagePerson.tool'));
    });
  if (trainerIds !== undefined) all = all.where('trainerId', 'in', jsonTexts(ctx.database, trainerIds));
  const rows = await all.orderBy('tool').orderBy('scope').orderBy('trainerId').execute();
  return rows.map(({ fallenSince, totals, ...of }) => {
    const { fallen = noCounts } = JSON.parse(totals ?? '{}') as Partial<Totals>;
    return { ...of, since: fallenSince ?? '', fallen };
  });
}
