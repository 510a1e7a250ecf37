import { sql } from 'kysely';
import type { Context } from '../../context.ts';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { inParts, jsonTexts, onSame } from '../../db/query.ts';
import type { Row } from '../../db/schema.ts';
import type { ContractEvidence, ContractKey, LinkEvidence } from '../../domain/evidence.ts';
import { statusOfLink } from '../../domain/evidence-status.ts';
import { heldStates } from '../../domain/membership.ts';
import { type Counts, noCounts } from '../../domain/usage.ts';
import type { JobHold } from '../../jobs/job.ts';
import { countDueJobs, hurryJobs, wantJobs } from '../../jobs/job-store.ts';
import type { Storage } from '../../keys/storage.ts';
import { usageScopeOf } from '../../memberships/wall.ts';
import type { Totals } from './merge-work.ts';

/** The work scope of a link, with the group and the time zone of its project. */
interface LinkScope {
  install: string;
  tool: string;
  scope: string;
  groupId: string;
  timeZone: string;
}

export type LinkedProject = Pick<LinkEvidence, 'install' | 'externalProjectId' | 'externalProjectName'>;

/** Undefined for a link outside the projects of its install, and where the tool cannot read work. */
export function scopeOfLink(ctx: Context, link: LinkedProject): LinkScope | undefined {
  const route = ctx.routeLink(link);
  if (route === undefined) return undefined;
  const adapter = ctx.adapters.get(route.tool);
  const scope = adapter?.readUsage && usageScopeOf(adapter, link);
  if (scope === undefined) return undefined;
  return { ...route, install: link.install, scope, timeZone: timeZoneOf(ctx, link.externalProjectId) };
}

export function timeZoneOf({ config }: Context, externalProjectId: string | null): string {
  return config.links.get(externalProjectId ?? '')?.timeZone ?? 'UTC';
}

/** A work scope, with the groups whose members work in it. The install is that of one link that leads to it. */
export interface WorkScope extends Omit<LinkScope, 'groupId'> {
  groupIds: string[];
  /** Whether a live link leads to it. */
  isLinked: boolean;
}

/**
 * The scopes in which trainers may work, by `scopeKey`: those of live links, and those of other links whose group still
 * has members.
 */
export async function listWorkScopes(ctx: Context): Promise<Map<string, WorkScope>> {
  const toGroup = (one: { tool: string; groupId: string }) => JSON.stringify([one.tool, one.groupId]);
  const inhabited = new Set((await listInhabitedGroups(ctx)).map(toGroup));
  const scopes = new Map<string, WorkScope>();
  for (const link of await listWorkLinks(ctx)) {
    const at = scopeOfLink(ctx, link);
    const isLive = statusOfLink(link) === 'live';
    if (at === undefined || !(isLive || inhabited.has(toGroup(at)))) continue;
    const { groupId, ...found } = at;
    const workScope = scopes.get(scopeKey(at)) ?? { ...found, groupIds: [], isLinked: false };
    workScope.isLinked ||= isLive;
    if (!workScope.groupIds.includes(groupId)) workScope.groupIds.push(groupId);
    scopes.set(scopeKey(at), workScope);
  }
  return scopes;
}

export function scopeKey({ tool, scope }: { tool: string; scope: string }): string {
  return JSON.stringify([tool, scope]);
}

// The SQL that usage reads contracts, links and participations with. It changes nothing.

/** A trainer on a contract whose work is done where a link leads. */
export interface Engagement extends ContractEvidence {
  trainerId: string;
  linkId: string;
  externalProjectId: string | null;
  externalProjectName: string | null;
}

/** Links of all installs, also those that were removed. */
function listWorkLinks(ctx: Storage): Promise<LinkEvidence[]> {
  return ctx.database.kysely.selectFrom('link').selectAll().orderBy('install').orderBy('linkId').execute();
}

/** Every group that a trainer is in, or may be in. */
function listInhabitedGroups(ctx: Storage): Promise<{ tool: string; groupId: string }[]> {
  return ctx.database.kysely
    .selectFrom('membership')
    .select(['tool', 'groupId'])
    .distinct()
    .where('state', 'in', heldStates)
    .execute();
}

/** Every trainer who was ever on a contract. */
export async function listTrainers(ctx: Storage, { install, contractId }: ContractKey): Promise<string[]> {
  const all = ctx.database.kysely.selectFrom('participation').select('trainerId').where('install', '=', install);
  const rows = await all.where('contractId', '=', contractId).orderBy('trainerId').execute();
  return rows.map(({ trainerId }) => trainerId);
}

/** Every contract and link of these trainers, past or present. */
export async function listEngagements(
  database: Database,
  db: Transaction,
  trainerIds: readonly string[],
): Promise<Engagement[]> {
  return await db
    .selectFrom('contract')
    .innerJoin('contractLink', onSame('contractLink', 'contract', ['install', 'contractId']))
    .innerJoin('participation', onSame('participation', 'contract', ['install', 'contractId']))
    .innerJoin('link', onSame('link', 'contractLink', ['install', 'linkId']))
    .selectAll('contract')
    .select(['contractLink.linkId', 'participation.trainerId', 'link.externalProjectId', 'link.externalProjectName'])
    .where('participation.trainerId', 'in', jsonTexts(database, trainerIds))
    .execute();
}

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

/** What keeps a scope from being read; all null where nothing does. */
export type ScopeTrouble = Pick<Row<'usageScope'>, 'failingSince' | 'goneSince' | 'refusedAt'>;

const noTrouble: ScopeTrouble = { failingSince: null, goneSince: null, refusedAt: null };

/** A reading that has just failed. */
interface Failed {
  /** Whether a live link leads to the scope. Only such a scope has to stay readable. */
  isLinked: boolean;
  /** Whether the tool says that the scope does not exist. */
  isGone: boolean;
  /** When the reading began, where it will fail again until an operator changes something; else null. */
  refusedAt: string | null;
  now: string;
}

/** Pure: the trouble after one more failed reading. */
export function worsen(known: ScopeTrouble, failed: Failed): ScopeTrouble {
  const { isLinked, isGone, refusedAt, now } = failed;
  return {
    refusedAt,
    failingSince: isLinked ? (known.failingSince ?? now) : null,
    goneSince: isGone ? (known.goneSince ?? now) : null,
  };
}
