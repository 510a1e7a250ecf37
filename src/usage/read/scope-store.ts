import { sql } from 'kysely';
import type { Context, Storage } from '../../context.ts';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { inParts, jsonTexts, onSame } from '../../db/query.ts';
import type { Row } from '../../db/schema.ts';
import type { ContractEvidence, ContractKey, LinkEvidence } from '../../domain/evidence.ts';
import { statusOfLink } from '../../domain/evidence-status.ts';
import { heldStates } from '../../domain/membership.ts';
import type { JobHold } from '../../jobs/job.ts';
import { countDueJobs, hurryJobs, wantJobs } from '../../jobs/job-store.ts';
import { usageScopeOf } from '../../memberships/wall.ts';

// The SQL of work scopes: the places in a tool, such as projects, where work is read.

export interface ScopeKey {
  tool: string;
  scope: string;
}

export interface WantedScope extends ScopeKey {
  /** The install whose turn the reading takes. */
  install: string;
}

/** The work scope of a link, with the group and the time zone of its project. */
interface LinkScope extends WantedScope {
  groupId: string;
  timeZone: string;
}

export type LinkedProject = Pick<LinkEvidence, 'install' | 'externalProjectId' | 'externalProjectName'>;

/** Undefined for a link outside the projects of its install, and if the tool cannot read work. */
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

/** A scope with the groups whose members work in it. Several links may lead to it; the install is that of one. */
export interface WorkScope extends Omit<LinkScope, 'groupId'> {
  groupIds: string[];
  /** Whether a live link leads to it. */
  isLinked: boolean;
}

/** The scopes in which trainers may work: those of live links, and of other links whose group still has members. */
export async function listWorkScopes(ctx: Context): Promise<WorkScope[]> {
  const { kysely } = ctx.database;
  const toGroup = (one: { tool: string; groupId: string }) => JSON.stringify([one.tool, one.groupId]);
  const groups = kysely.selectFrom('membership').select(['tool', 'groupId']).distinct();
  const inhabited = new Set((await groups.where('state', 'in', heldStates).execute()).map(toGroup));
  const scopes = new Map<string, WorkScope>();
  for (const link of await kysely.selectFrom('link').selectAll().orderBy('install').orderBy('linkId').execute()) {
    const at = scopeOfLink(ctx, link);
    const isLive = statusOfLink(link) === 'live';
    if (at === undefined || !(isLive || inhabited.has(toGroup(at)))) continue;
    const { groupId, ...found } = at;
    const workScope = scopes.get(scopeKey(at)) ?? { ...found, groupIds: [], isLinked: false };
    workScope.isLinked ||= isLive;
    if (!workScope.groupIds.includes(groupId)) workScope.groupIds.push(groupId);
    scopes.set(scopeKey(at), workScope);
  }
  return [...scopes.values()];
}

export function scopeKey({ tool, scope }: ScopeKey): string {
  return JSON.stringify([tool, scope]);
}

/** A trainer on a contract whose work is done where a link leads. */
export interface Engagement extends ContractEvidence {
  trainerId: string;
  linkId: string;
  externalProjectId: string | null;
  externalProjectName: string | null;
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

/** A scope that is being read. */
export interface ReadScope extends Row<'usageScope'> {
  /** How many readings in a row have failed. */
  attempts: number;
  hold: JobHold;
}

/** Adds new scopes, which are due at once, and their groups. It runs every minute, so it writes nothing else. */
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

/** The kind of the jobs that read the scopes of one tool. */
export function workIn(tool: string): `work in ${string}` {
  return `work in ${tool}`;
}

/** How many scopes are due. */
export function countDueScopes(ctx: Storage, now: string): Promise<number> {
  return countDueJobs(ctx, workIn(''), now);
}

export async function findScope(ctx: Storage, { tool, scope }: ScopeKey): Promise<Row<'usageScope'>> {
  const rows = ctx.database.kysely.selectFrom('usageScope').selectAll();
  return await rows.where('tool', '=', tool).where('scope', '=', scope).executeTakeFirstOrThrow();
}

/** @param gap what the tool could not report; null if it reported everything */
export async function settleScope(
  ctx: Storage,
  read: ReadScope,
  { beganAt, isComplete, gap }: { beganAt: string; isComplete: boolean; gap: string | null },
): Promise<void> {
  const changes = {
    ...{ failure: null, failingSince: null, goneSince: null, refusedAt: null, gap, readBeganAt: beganAt },
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

/** @throws AppError `unavailable` if another process reads the scope now */
export async function changeScope(
  tx: Transaction,
  { tool, scope, hold }: ReadScope,
  changes: Partial<Row<'usageScope'>>,
): Promise<void> {
  await hold.confirm(tx);
  await tx.updateTable('usageScope').set(changes).where('tool', '=', tool).where('scope', '=', scope).execute();
}

/** A scope, and when it is read next; null if no reading is wanted. */
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

/** Makes scopes due now, and adds new ones. */
export async function wantScopes(tx: Transaction, scopes: readonly WantedScope[], now: string): Promise<void> {
  for (const part of inParts(scopes)) {
    const insert = tx.insertInto('usageScope').values(part.map(({ tool, scope }) => ({ tool, scope })));
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
  }
  for (const [tool, some] of Map.groupBy(scopes, (one) => one.tool)) {
    const jobs = some.map(({ scope, install }) => ({ key: scope, install }));
    await wantJobs(tx, workIn(tool), jobs, now);
  }
}
