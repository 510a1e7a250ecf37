import { sql } from 'kysely';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { inParts, jsonTexts } from '../../db/query.ts';
import type { Row } from '../../db/schema.ts';
import { type Counts, noCounts } from '../../domain/usage.ts';
import type { JobHold } from '../../jobs/job.ts';
import { countDueJobs, hurryJobs, wantJobs } from '../../jobs/job-store.ts';
import type { Storage } from '../../keys/storage.ts';
import { scopeKey } from './find-scopes.ts';
import type { Totals } from './merge-work.ts';
import { noTrouble } from './scope-trouble.ts';

// The only SQL about how far scopes were read.

export interface ScopeKey {
  tool: string;
  scope: string;
}

export interface WantedScope extends ScopeKey {
  /** The install whose turn the reading takes. */
  install: string;
}

/** A scope that is being read. */
export interface ReadScope extends Row<'usageScope'> {
  /** How many readings in a row have failed. */
  attempts: number;
  hold: JobHold;
}

/** Adds scopes that are new, which are due at once, and their groups. Writes nothing else: it runs every minute. */
export async function keepScopes(
  { database }: Storage,
  scopes: readonly (WantedScope & { groupIds: readonly string[] })[],
  now: string,
): Promise<void> {
  const { kysely } = database;
  const known = new Set((await kysely.selectFrom('usageScope').select(['tool', 'scope']).execute()).map(scopeKey));
  const knownGroups = new Set((await kysely.selectFrom('usageScopeGroup').selectAll().execute()).map(groupKey));
  const added = scopes.filter((one) => !known.has(scopeKey(one)));
  const groups = scopes
    .flatMap(({ tool, scope, groupIds }) => groupIds.map((groupId) => ({ tool, groupId, scope })))
    .filter((one) => !knownGroups.has(groupKey(one)));
  if (added.length + groups.length === 0) return;
  await inTransaction(database, async (tx) => {
    await wantScopes(tx, added, now);
    for (const part of inParts(groups)) {
      const insert = tx.insertInto('usageScopeGroup').values(part);
      await insert.onConflict((conflict) => conflict.doNothing()).execute();
    }
  });
}

function groupKey({ tool, groupId, scope }: Row<'usageScopeGroup'>): string {
  return JSON.stringify([tool, groupId, scope]);
}

/** Of one tool the scopes are jobs of one kind. */
export function workIn(tool: string): `work in ${string}` {
  return `work in ${tool}`;
}

/** How many scopes are to be read now. @param dueSince only those that became due after this instant */
export function countDueScopes(ctx: Storage, now: string, dueSince?: string): Promise<number> {
  return countDueJobs(ctx, workIn(''), now, dueSince);
}

export async function findScope(ctx: Storage, { tool, scope }: ScopeKey): Promise<Row<'usageScope'>> {
  const rows = ctx.database.kysely.selectFrom('usageScope').selectAll();
  return await rows.where('tool', '=', tool).where('scope', '=', scope).executeTakeFirstOrThrow();
}

/** @param gap what the tool could not report; null where it reported everything */
export async function settleScope(
  ctx: Storage,
  read: ReadScope,
  { beganAt, isComplete, gap }: { beganAt: string; isComplete: boolean; gap: string | null },
): Promise<void> {
  const changes = {
    ...{ failure: null, ...noTrouble, gap, readBeganAt: beganAt },
    gapSince: gap === null ? null : (read.gapSince ?? beganAt),
    completeBeganAt: isComplete ? beganAt : read.completeBeganAt,
  };
  await inTransaction(ctx.database, async (tx) => {
    await changeScope(tx, read, changes);
    const final = tx
      .selectFrom('awaitedReading')
      .select('membershipId')
      .where('workSince', 'is not', null)
      .where('reportedAt', 'is', null);
    if ((await final.limit(1).executeTakeFirst()) !== undefined) await hurryJobs(tx, 'final reports', [''], beganAt);
  });
}

/** Changes nothing where another process reads the scope now. @throws AppError `unavailable` then */
export async function changeScope(
  tx: Transaction,
  { tool, scope, hold }: ReadScope,
  changes: Partial<Row<'usageScope'>>,
): Promise<void> {
  await hold.confirm(tx);
  await tx.updateTable('usageScope').set(changes).where('tool', '=', tool).where('scope', '=', scope).execute();
}

/** When each is read next; null if no reading is wanted. */
export type ListedScope = Row<'usageScope'> & { nextReadAt: string | null; attempts: number };

export async function listScopes(ctx: Storage): Promise<ListedScope[]> {
  const kind = sql<string>`${workIn('')} || usage_scope.tool`;
  const rows = await ctx.database.kysely
    .selectFrom('usageScope')
    .leftJoin('job', (join) => join.on('job.kind', '=', kind).onRef('job.key', '=', 'usageScope.scope'))
    .selectAll('usageScope')
    .select(['job.dueAt as nextReadAt', 'job.attempts'])
    .orderBy('tool')
    .orderBy('scope')
    .execute();
  return rows.map((row) => ({ ...row, attempts: row.attempts ?? 0 }));
}

/** Makes scopes due now, and adds those that are new. */
export async function wantScopes(tx: Transaction, scopes: readonly WantedScope[], now: string): Promise<void> {
  for (const part of inParts(scopes)) {
    const rows = part.map(({ tool, scope }) => ({ tool, scope }));
    await tx
      .insertInto('usageScope')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  for (const [tool, some] of Map.groupBy(scopes, (one) => one.tool)) {
    const jobs = some.map(({ scope, install }) => ({ key: scope, install }));
    await wantJobs(tx, workIn(tool), jobs, now);
  }
}

/** A running total that is below what was counted. */
export interface FallenTotal extends ScopeKey {
  trainerId: string;
  since: string;
  /** How far it is below. */
  fallen: Counts;
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
