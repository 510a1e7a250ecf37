import type { Context } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { inParts, onSame } from '../db/query.ts';
import {
  type AskedEnd,
  findListWait,
  type InstallReadings,
  isReadingOver,
  type ReasonInstall,
} from '../domain/awaited-reading.ts';
import type { RoutedLink } from '../domain/route.ts';
import { isExplicit } from '../domain/standing.ts';
import { toInstant } from '../lib/clock.ts';
import { installsReaching } from '../memberships/link-router.ts';
import type { DueMembership } from './brake-store.ts';

/**
 * The SQL of removals that wait for the marketplace to be asked: since when each one waits, and which installs must
 * have their active contracts listed for it.
 */

/** A removal that is due, and what is known of the installs that have, or had, a reason for it. */
export interface LoadedDue {
  due: DueMembership;
  end: AskedEnd;
  sources: ReasonInstall[];
  others: InstallReadings[];
}

export interface PassingRemovals {
  /** The removals that need not wait (any longer). */
  due: DueMembership[];
  /** Whether a list was requested. */
  isListWanted: boolean;
}

/** Has the active contracts of these installs listed. */
export type WantLists = (tx: Transaction, installs: readonly string[], now: string) => Promise<void>;

/** @returns the removals that need not wait (any longer) for a reading after a pause */
export async function awaitReadingsAfterPause(
  ctx: Context,
  tx: Transaction,
  due: readonly DueMembership[],
  now: Date,
): Promise<LoadedDue[]> {
  const instant = toInstant(now);
  const ends = await loadDueEnds(ctx, tx, due);
  const { passing = [], waiting = [] } = Object.groupBy(ends, ({ end, sources, others }) =>
    isReadingOver(end, sources, others, instant, ctx.config.removals) ? 'passing' : 'waiting',
  );
  // After another pause the removal waits for lists anew.
  const changed = waiting.filter(({ end }) => end.waitsSince === null || end.listsWaitedSince !== null);
  await saveWaiting(tx, changed, { now: instant, listsWaitedSince: null });
  return passing;
}

/** The last wait: requests the lists that these removals need. */
export async function awaitLists(
  tx: Transaction,
  ready: readonly LoadedDue[],
  now: Date,
  wantLists: WantLists,
): Promise<PassingRemovals> {
  const instant = toInstant(now);
  const waits = ready.map((one) => ({ ...one, ...findListWait(one.end, one.sources, one.others, instant) }));
  const { passing = [], waiting = [] } = Object.groupBy(waits, ({ isOver }) => (isOver ? 'passing' : 'waiting'));
  const changed = waiting.filter(({ end }) => end.listsWaitedSince === null);
  await saveWaiting(tx, changed, { now: instant, listsWaitedSince: instant });
  const toList = new Set(waiting.flatMap((wait) => wait.toList));
  await wantLists(tx, [...toList], instant);
  return { due: passing.map((one) => one.due), isListWanted: toList.size > 0 };
}

async function loadDueEnds(ctx: Context, tx: Transaction, due: readonly DueMembership[]): Promise<LoadedDue[]> {
  if (due.length === 0) return [];
  const readings = await loadReadings(tx);
  const ids = due.map(({ membershipId }) => membershipId);
  const ends = await loadEnds(tx, ids);
  const reasons = Map.groupBy(await loadReasons(tx, ids), ({ membershipId }) => membershipId);
  return due.flatMap((one) => {
    const end = ends.get(one.membershipId);
    if (end === undefined) return [];
    const its = reasons.get(one.membershipId) ?? [];
    const sources = toSources(ctx, end.install, its, readings);
    return [{ due: one, end: toAskedEnd(end, one), sources, others: findOthers(ctx, end, its, readings) }];
  });
}

async function loadReadings(tx: Transaction): Promise<Map<string, InstallReadings>> {
  const rows = await tx
    .selectFrom('installState')
    .select(['install', 'heldSince', 'removalsHeldSince', 'activeListedAt'])
    .execute();
  return new Map(rows.map((row) => [row.install, row]));
}

type LoadedEnd = Awaited<ReturnType<typeof loadEnds>> extends Map<number, infer Row> ? Row : never;

function toAskedEnd({ install, derivedAt, dueAt, ...wait }: LoadedEnd, due: DueMembership): AskedEnd {
  const { generation, cause, isApproved } = due;
  // A new cause starts a new wait, for example an explicit end after weaker evidence.
  const isSame = wait.generation === generation && wait.isExplicit === isExplicit(cause);
  const waitsSince = isSame ? wait.waitsSince : null;
  const listsWaitedSince = isSame ? wait.listsWaitedSince : null;
  const hasWaitedToRead = waitsSince !== null && waitsSince !== listsWaitedSince;
  const hasWaited = hasWaitedToRead || wait.workGeneration === generation;
  return { cause, isApproved, install, derivedAt, dueAt, waitsSince, listsWaitedSince, hasWaited };
}

async function loadEnds(tx: Transaction, ids: readonly number[]) {
  const rows = await tx
    .selectFrom('membership')
    .leftJoin('awaitedReading', 'awaitedReading.membershipId', 'membership.id')
    .leftJoin('finalReading', 'finalReading.membershipId', 'membership.id')
    .select(['id', 'tool', 'groupId', 'install', 'updatedAt', 'removeAfter'])
    .select(['awaitedReading.generation', 'isExplicit', 'since as waitsSince', 'listsWaitedSince'])
    .select('finalReading.generation as workGeneration')
    .where('id', 'in', ids)
    .execute();
  return new Map(
    rows.map(({ id, updatedAt: derivedAt, removeAfter, ...row }) => [
      id,
      { ...row, derivedAt, dueAt: removeAfter ?? derivedAt },
    ]),
  );
}

type LoadedReason = Awaited<ReturnType<typeof loadReasons>>[number];

async function loadReasons(tx: Transaction, ids: readonly number[]) {
  return await tx
    .selectFrom('reason')
    .leftJoin('contract', onSame('contract', 'reason', ['install', 'contractId']))
    .leftJoin('link', onSame('link', 'reason', ['install', 'linkId']))
    .select(['reason.membershipId', 'reason.install', 'endedEventAt', 'endedReadAt'])
    .select(['externalProjectId', 'externalProjectName'])
    .where('reason.membershipId', 'in', ids)
    .execute();
}

function toSources(
  { installs }: Context,
  own: string,
  reasons: readonly LoadedReason[],
  readings: ReadonlyMap<string, InstallReadings>,
): ReasonInstall[] {
  const names = new Set([own, ...reasons.map(({ install }) => install)]);
  return [...names].map((install) => {
    const its = reasons.filter((reason) => reason.install === install);
    const ends = its.flatMap(({ endedEventAt, endedReadAt }) => [endedEventAt, endedReadAt]);
    const [endedAt = null] = ends
      .filter((end) => end !== null)
      .sort()
      .reverse();
    const canBeAsked = installs.has(install);
    return { ...(readings.get(install) ?? unread(install)), endedAt, canBeAsked };
  });
}

/** Only held installs matter, and mostly there are none. */
function findOthers(
  ctx: Context,
  { tool, groupId, install }: LoadedEnd,
  reasons: readonly LoadedReason[],
  readings: ReadonlyMap<string, InstallReadings>,
): InstallReadings[] {
  const sources = new Set([install, ...reasons.map((reason) => reason.install)]);
  const held = [...readings.values()].filter((one) => one.removalsHeldSince !== null && !sources.has(one.install));
  if (held.length === 0) return [];
  const reaching = installsReaching(ctx.installs, ctx.routeLink, { tool, groupId }, toProjects(reasons));
  return held.filter((one) => reaching.has(one.install));
}

function toProjects(reasons: readonly LoadedReason[]): Omit<RoutedLink, 'install'>[] {
  const byId = new Map(reasons.map((reason) => [reason.externalProjectId, reason]));
  return [...byId.values()].map(({ externalProjectId, externalProjectName }) => ({
    externalProjectId,
    externalProjectName,
  }));
}

function unread(install: string): InstallReadings {
  return { install, heldSince: null, removalsHeldSince: null, activeListedAt: null };
}

async function saveWaiting(
  tx: Transaction,
  waiting: readonly LoadedDue[],
  { now, listsWaitedSince }: { now: string; listsWaitedSince: string | null },
): Promise<void> {
  for (const part of inParts(waiting)) {
    const rows = part.map(({ due: { membershipId, generation, cause }, end: { waitsSince } }) => ({
      membershipId,
      generation,
      isExplicit: isExplicit(cause),
      since: waitsSince ?? now,
      listsWaitedSince,
    }));
    await tx
      .insertInto('awaitedReading')
      .values(rows)
      .onConflict((conflict) =>
        conflict.column('membershipId').doUpdateSet((eb) => ({
          generation: eb.ref('excluded.generation'),
          isExplicit: eb.ref('excluded.isExplicit'),
          since: eb.ref('excluded.since'),
          listsWaitedSince: eb.ref('excluded.listsWaitedSince'),
        })),
      )
      .execute();
  }
}
