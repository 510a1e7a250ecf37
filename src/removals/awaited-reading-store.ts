import type { Transaction } from '../db/database.ts';
import { inParts } from '../db/key-in.ts';
import { onSame } from '../db/on-same.ts';
import {
  type DueEnd,
  findReadingWait,
  type InstallReadings,
  type ReadingWait,
  type ReasonInstall,
} from '../domain/awaited-reading.ts';
import { type GracePeriods, isExplicit } from '../domain/standing.ts';
import { toInstant } from '../lib/clock.ts';
import type { InstallsReaching } from '../memberships/link-router.ts';
import type { RoutedLink } from '../memberships/wall.ts';
import type { DueMembership } from './brake-store.ts';

/**
 * The SQL of removals that wait for the marketplace to be asked: since when each one waits, and which installs must
 * have their active contracts listed for it.
 */
export interface AwaitedReadingStore {
  /** Records which removals wait from now on, and which lists they need. */
  mayPass(tx: Transaction, due: readonly DueMembership[], now: Date): Promise<PassingRemovals>;
}

export interface PassingRemovals {
  /** The removals that need not wait (any longer). */
  due: DueMembership[];
  /** Whether a list was requested. */
  isListWanted: boolean;
}

export interface AwaitedReadingRules {
  gracePeriods: GracePeriods;
  /** All configured installs, always current. */
  installs: ReadonlyMap<string, unknown>;
  installsReaching: InstallsReaching;
  /** Has the active contracts of these installs listed. */
  wantLists(tx: Transaction, installs: readonly string[], now: string): Promise<void>;
}

export function createAwaitedReadingStore(rules: AwaitedReadingRules): AwaitedReadingStore {
  return {
    async mayPass(tx, due, now) {
      const passing: DueMembership[] = [];
      const toList = new Set<string>();
      const readings = due.length === 0 ? new Map<string, InstallReadings>() : await loadReadings(tx);
      for (const part of inParts(due)) {
        const waits = await findWaits(tx, rules, part, readings, toInstant(now));
        passing.push(...part.filter((one) => waits.get(one.membershipId)?.isOver));
        for (const wait of waits.values()) for (const one of wait.toList) toList.add(one);
      }
      await rules.wantLists(tx, [...toList], toInstant(now));
      return { due: passing, isListWanted: toList.size > 0 };
    },
  };
}

async function loadReadings(tx: Transaction): Promise<Map<string, InstallReadings>> {
  const rows = await tx
    .selectFrom('installState')
    .select(['install', 'heldSince', 'removalsHeldSince', 'activeListedAt'])
    .execute();
  return new Map(rows.map((row) => [row.install, row]));
}

async function findWaits(
  tx: Transaction,
  rules: AwaitedReadingRules,
  due: readonly DueMembership[],
  readings: ReadonlyMap<string, InstallReadings>,
  now: string,
): Promise<Map<number, ReadingWait>> {
  const ids = due.map(({ membershipId }) => membershipId);
  const ends = await loadEnds(tx, ids);
  const reasons = Map.groupBy(await loadReasons(tx, ids), ({ membershipId }) => membershipId);
  const waits = new Map<number, ReadingWait>();
  const waiting: NewWait[] = [];
  for (const { membershipId, generation, cause } of due) {
    const end = ends.get(membershipId);
    if (end === undefined) continue;
    const known = isSameWait(end, generation, cause) ? end.waitsSince : null;
    const its = reasons.get(membershipId) ?? [];
    const sources = toSources(rules, end.install, its, readings);
    const others = findOthers(rules, end, its, readings);
    const dueEnd: DueEnd = { ...end, cause, waitsSince: known };
    const wait = findReadingWait(dueEnd, sources, others, now, rules.gracePeriods);
    waits.set(membershipId, wait);
    const isNew = known === null && !wait.isOver;
    if (isNew) waiting.push({ membershipId, generation, isExplicit: isExplicit(cause), since: now });
  }
  await saveWaiting(tx, waiting);
  return waits;
}

type LoadedEnd = Awaited<ReturnType<typeof loadEnds>> extends Map<number, infer Row> ? Row : never;

/** A new cause starts a new wait, for example an explicit end after weaker evidence. */
function isSameWait(end: LoadedEnd, generation: number, cause: DueEnd['cause']): boolean {
  return end.generation === generation && end.isExplicit === (isExplicit(cause) ? 1 : 0);
}

async function loadEnds(tx: Transaction, ids: readonly number[]) {
  const rows = await tx
    .selectFrom('membership')
    .leftJoin('awaitedReading', 'awaitedReading.membershipId', 'membership.id')
    .select(['id', 'tool', 'groupId', 'install', 'updatedAt', 'removeAfter'])
    .select(['awaitedReading.generation', 'isExplicit', 'since as waitsSince'])
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
  { installs }: AwaitedReadingRules,
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
  { installsReaching }: AwaitedReadingRules,
  { tool, groupId, install }: LoadedEnd,
  reasons: readonly LoadedReason[],
  readings: ReadonlyMap<string, InstallReadings>,
): InstallReadings[] {
  const sources = new Set([install, ...reasons.map((reason) => reason.install)]);
  const held = [...readings.values()].filter((one) => one.removalsHeldSince !== null && !sources.has(one.install));
  if (held.length === 0) return [];
  const reaching = installsReaching({ tool, groupId }, toProjects(reasons));
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

interface NewWait {
  membershipId: number;
  generation: number;
  isExplicit: boolean;
  since: string;
}

async function saveWaiting(tx: Transaction, waiting: readonly NewWait[]): Promise<void> {
  if (waiting.length === 0) return;
  await tx
    .insertInto('awaitedReading')
    .values(waiting.map((one) => ({ ...one, isExplicit: one.isExplicit ? 1 : 0 })))
    .onConflict((conflict) =>
      conflict.column('membershipId').doUpdateSet((eb) => ({
        generation: eb.ref('excluded.generation'),
        isExplicit: eb.ref('excluded.isExplicit'),
        since: eb.ref('excluded.since'),
      })),
    )
    .execute();
}
