import type { Transaction } from '../db/database.ts';
import { onSame } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import { statusOfContract } from '../domain/evidence-status.ts';
import type { RoutedLink } from '../domain/route.ts';
import { toInstant } from '../lib/clock.ts';
import type { DueMembership } from './brake-store.ts';

/**
 * The SQL of removals that wait until the trainer's work was read. A removal that is due waits for a reading, begun
 * after that, of every scope where the trainer may have worked, and of no other. It waits at most five minutes, or
 * until the remaining scopes refuse to be read. Then the member is removed anyway, and the receipt names the unread
 * scopes and why they could not be read.
 */

const longestWaitMs = 5 * 60_000;
/** Work that is saved this long after the end of a contract still counts for it. */
const lateSavingMs = 24 * 60 * 60_000;

/** The scope in which work on a link's project is counted; undefined if it cannot be read. */
export type ToolScopeOf = (link: RoutedLink) => ToolScope | undefined;

interface ToolScope {
  install: string;
  tool: string;
  scope: string;
}

/** What knows where work is counted, and reads it. */
export interface WorkReading {
  scopeOf: ToolScopeOf;
  /** Has all of these read anew. */
  wantScopes(tx: Transaction, scopes: readonly ToolScope[], now: string): Promise<void>;
}

/** @returns the removals that need not wait (any longer) */
export async function awaitWork(
  tx: Transaction,
  due: readonly DueMembership[],
  now: Date,
  reading: WorkReading,
): Promise<ReadonlySet<number>> {
  const awaited = await loadAwaited(tx, due);
  const others = due.filter(({ membershipId }) => !awaited.has(membershipId));
  const passing = new Set(await wantWork(tx, reading, others, toInstant(now)));
  for (const [membershipId, work] of awaited) {
    if (await isWaitOver(tx, membershipId, work, now)) passing.add(membershipId);
  }
  return passing;
}

/** @returns the removals that need no reading */
async function wantWork(
  tx: Transaction,
  { scopeOf, wantScopes }: WorkReading,
  due: readonly DueMembership[],
  now: string,
): Promise<number[]> {
  const free: number[] = [];
  if (due.length === 0) return free;
  const reasons = await loadReasons(tx, due);
  for (const one of due) {
    const scopes = await scopesToRead(tx, scopeOf, one.tool, reasons.get(one.membershipId) ?? []);
    if (scopes.length === 0) free.push(one.membershipId);
    else await wantReading(tx, wantScopes, one, scopes, now);
  }
  return free;
}

/** What a removal waits for. */
interface AwaitedWork {
  wantedAt: string;
  /** Whether the wait is over, and something was not read. */
  isUnread: boolean;
  scopes: readonly AwaitedScope[];
}

/** By membership. */
async function loadAwaited(tx: Transaction, due: readonly DueMembership[]): Promise<Map<number, AwaitedWork>> {
  const generations = new Map(due.map(({ membershipId, generation }) => [membershipId, generation]));
  const ids = [...generations.keys()];
  const rows = await tx
    .selectFrom('finalReading')
    .select(['membershipId', 'generation', 'wantedAt', 'isUnread'])
    .where('membershipId', 'in', ids)
    .execute();
  const scopes = Map.groupBy(await awaitedScopes(tx, ids), ({ membershipId }) => membershipId);
  return new Map(
    rows.flatMap(({ membershipId, generation, wantedAt, isUnread }) => {
      const its = scopes.get(membershipId);
      if (its === undefined || generations.get(membershipId) !== generation) return [];
      return [[membershipId, { wantedAt, isUnread, scopes: its }] as const];
    }),
  );
}

async function isWaitOver(
  tx: Transaction,
  membershipId: number,
  { wantedAt, isUnread, scopes }: AwaitedWork,
  now: Date,
): Promise<boolean> {
  if (isUnread || scopes.every((scope) => wasRead(scope, wantedAt))) return true;
  const hasTime = now.getTime() - Date.parse(wantedAt) < longestWaitMs;
  const isRefused = scopes.every((scope) => wasRead(scope, wantedAt) || wasRefused(scope, wantedAt));
  if (hasTime && !isRefused) return false;
  await tx.updateTable('finalReading').set({ isUnread: true }).where('membershipId', '=', membershipId).execute();
  return true;
}

async function wantReading(
  tx: Transaction,
  wantScopes: WorkReading['wantScopes'],
  { membershipId, generation }: DueMembership,
  scopes: readonly ToolScope[],
  wantedAt: string,
): Promise<void> {
  const again = { generation, wantedAt, isUnread: false, reportedAt: null, reportAfter: null };
  await tx
    .insertInto('finalReading')
    .values({ membershipId, ...again })
    .onConflict((conflict) => conflict.column('membershipId').doUpdateSet(again))
    .execute();
  await tx.deleteFrom('finalReadingScope').where('membershipId', '=', membershipId).execute();
  const keys = scopes.map(({ tool, scope }) => ({ tool, scope }));
  await tx
    .insertInto('finalReadingScope')
    .values(keys.map((key) => ({ membershipId, ...key })))
    .execute();
  await wantScopes(tx, scopes, wantedAt);
}

/** What was read before a removal was reported, or is to be reported later. */
export async function noteReported(
  tx: Transaction,
  { membershipId, generation }: { membershipId: number; generation: number },
  changes: { reportedAt: string } | { reportAfter: string },
): Promise<void> {
  await tx
    .updateTable('finalReading')
    .set(changes)
    .where((eb) => eb.and({ membershipId, generation }))
    .execute();
}

/**
 * Explains in the receipt why work may be missing; null if it was read.
 *
 * @param foundId the account that was removed
 */
export async function describeUnreadWork(
  tx: Transaction,
  { id, generation, memberId }: Pick<Row<'membership'>, 'id' | 'generation' | 'memberId'>,
  foundId: string | undefined,
): Promise<string | null> {
  const reading = await tx
    .selectFrom('finalReading')
    .select(['wantedAt', 'isUnread'])
    .where((eb) => eb.and({ membershipId: id, generation }))
    .executeTakeFirst();
  if (reading === undefined) return null;
  const { wantedAt, isUnread } = reading;
  const scopes = isUnread ? await awaitedScopes(tx, [id]) : [];
  // They may have been read after the wait was over.
  const left = scopes.filter((scope) => !wasRead(scope, wantedAt));
  if (left.length > 0) {
    const where = left.map(({ scope, failure }) => `${scope} (${failure ?? 'not answered yet'})`);
    return `Gangway could not read the trainer's work before the removal, since ${wantedAt}, in ${where.join(', ')}. The last work may not be reported`;
  }
  // The last reading did not know this account, because it was found only now.
  if (foundId === undefined || foundId === memberId) return null;
  return 'The account was first seen after the last reading of work. Its work may not be reported';
}

type AwaitedScope = Awaited<ReturnType<typeof awaitedScopes>>[number];

async function awaitedScopes(tx: Transaction, membershipIds: readonly number[]) {
  return await tx
    .selectFrom('finalReadingScope')
    .leftJoin('usageScope', onSame('usageScope', 'finalReadingScope', ['tool', 'scope']))
    .select(['finalReadingScope.membershipId', 'finalReadingScope.scope', 'usageScope.readBeganAt'])
    .select(['usageScope.refusedAt', 'usageScope.failure'])
    .where('finalReadingScope.membershipId', 'in', membershipIds)
    .orderBy('finalReadingScope.scope')
    .execute();
}

function wasRead({ readBeganAt }: AwaitedScope, since: string): boolean {
  return readBeganAt !== null && readBeganAt >= since;
}

/** Whether waiting for it is useless. */
function wasRefused({ refusedAt }: AwaitedScope, since: string): boolean {
  return refusedAt !== null && refusedAt >= since;
}

type LoadedReason = Awaited<ReturnType<typeof loadReasons>> extends Map<number, (infer Row)[]> ? Row : never;

async function loadReasons(tx: Transaction, due: readonly DueMembership[]) {
  const ids = due.map(({ membershipId }) => membershipId);
  const rows = await tx
    .selectFrom('reason')
    .innerJoin('link', onSame('link', 'reason', ['install', 'linkId']))
    .innerJoin('contract', onSame('contract', 'reason', ['install', 'contractId']))
    .selectAll('contract')
    .select(['reason.membershipId', 'link.externalProjectId', 'link.externalProjectName'])
    .where('reason.membershipId', 'in', ids)
    .execute();
  return Map.groupBy(rows, ({ membershipId }) => membershipId);
}

/**
 * The scopes where the trainer may have worked: those of every contract that was a reason for this membership. It
 * leaves out scopes that were read so late that no later work can count.
 */
async function scopesToRead(
  tx: Transaction,
  scopeOf: ToolScopeOf,
  tool: string,
  reasons: readonly LoadedReason[],
): Promise<ToolScope[]> {
  const scopes = new Map<string, ToolScope>();
  for (const reason of reasons) {
    const toolScope = scopeOf(reason);
    if (toolScope?.tool !== tool) continue;
    if (!(await wasReadToTheEnd(tx, toolScope, reason))) scopes.set(toolScope.scope, toolScope);
  }
  return [...scopes.values()];
}

async function wasReadToTheEnd(
  tx: Transaction,
  { tool, scope }: ToolScope,
  contract: Parameters<typeof statusOfContract>[0] & { endDate: string | null },
): Promise<boolean> {
  if (statusOfContract(contract) !== 'ended') return false;
  const [endedAt] = [contract.endedEventAt, contract.endDate]
    .flatMap((at) => at ?? [])
    .sort()
    .reverse();
  if (endedAt === undefined) return false;
  const row = await tx
    .selectFrom('usageScope')
    .select('readBeganAt')
    .where((eb) => eb.and({ tool, scope }))
    .executeTakeFirst();
  const readAt = Date.parse(row?.readBeganAt ?? '');
  return readAt >= Date.parse(endedAt) + lateSavingMs;
}
