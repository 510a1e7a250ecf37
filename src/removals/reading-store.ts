import type { Context } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { onSame, upsert } from '../db/query.ts';
import type { Route } from '../domain/install.ts';
import {
  type InstallReadings,
  type ReasonInstall,
  type RequiredReadings,
  requiredReadings,
  type Waits,
} from '../domain/required-readings.ts';
import { isExplicit } from '../domain/standing.ts';
import { toInstant } from '../lib/clock.ts';
import { installsReaching } from '../memberships/wall.ts';
import { type DueMembership, loadDueRemovals } from './brake-store.ts';
import {
  awaitWork,
  findScopes,
  loadAwaitedScopes,
  type ToolScope,
  type ToolScopeOf,
  toUnread,
  type WantScopes,
} from './final-reading-store.ts';

// The SQL of the readings that due removals wait for: what has been read, and since when each removal waits.

/** Where work is counted, and how readings are requested. */
export interface ReadingPorts {
  scopeOf: ToolScopeOf;
  wantScopes: WantScopes;
  /** Requests lists of the active contracts of these installs. */
  wantLists(tx: Transaction, installs: readonly string[], now: string): Promise<void>;
}

export interface PassingRemovals {
  /** The removals that need not wait any longer. */
  due: DueMembership[];
  /** Whether a list was requested. */
  isListWanted: boolean;
}

/**
 * Finds the due removals that need not wait for a reading any longer. For the others it records since when they wait,
 * and requests the readings.
 *
 * @param withoutWork removals before which no work is read
 */
export async function passReadings(
  ctx: Context,
  tx: Transaction,
  install: string,
  ids: readonly number[],
  ports: ReadingPorts,
  withoutWork: ReadonlySet<number>,
): Promise<PassingRemovals> {
  const now = toInstant(ctx.clock.now());
  const due = await loadDueRemovals(tx, install, ids, now);
  const removals = await judgeRemovals(ctx, tx, due, now, ports.scopeOf, withoutWork);
  const waiting = removals.flatMap(({ required, ...one }) => (required === null ? [] : [{ ...one, required }]));
  const passing = removals.filter(({ required }) => required === null);
  await saveWaits(tx, waiting.filter(isNewWait));
  const toRead = waiting.filter(
    ({ required: { stage }, due: { waits } }) => stage === 'work' && waits.workSince === null,
  );
  await awaitWork(tx, toRead, now, ports.wantScopes);
  const lists = waiting.flatMap(({ required: { readings } }) => readings.filter(({ kind }) => kind === 'active_list'));
  await ports.wantLists(tx, [...new Set(lists.map(({ of }) => of))], now);
  return { due: passing.map((one) => one.due), isListWanted: lists.length > 0 };
}

/** A due removal, and the readings that it waits for. */
interface JudgedRemoval {
  due: DueMembership;
  /** Null if it need not wait any longer. */
  required: RequiredReadings | null;
  /** The scopes whose reading is still to be requested. */
  newScopes: readonly ToolScope[];
}

async function judgeRemovals(
  ctx: Context,
  tx: Transaction,
  due: readonly DueMembership[],
  now: string,
  scopeOf: ToolScopeOf,
  withoutWork: ReadonlySet<number> = new Set(),
): Promise<JudgedRemoval[]> {
  if (due.length === 0) return [];
  const ids = due.map(({ membershipId }) => membershipId);
  const installs = await loadInstalls(tx);
  const allReasons = Map.groupBy(await loadReasons(tx, ids), ({ membershipId }) => membershipId);
  const awaited = Map.groupBy(await loadAwaitedScopes(tx, ids), ({ membershipId }) => membershipId);
  const toWork = due.filter(({ membershipId, waits }) => waits.workSince === null && !withoutWork.has(membershipId));
  const found = await findScopes(tx, toWork, allReasons, scopeOf);
  return due.map((one) => {
    const { membershipId, waits } = one;
    const reasons = allReasons.get(membershipId) ?? [];
    const newScopes = found.get(membershipId) ?? [];
    const isAwaited = waits.workSince !== null && !withoutWork.has(membershipId);
    const scopes = isAwaited ? (awaited.get(membershipId) ?? []) : newScopes.map(toUnread);
    const sources = toSources(ctx, one.install, reasons, installs);
    const others = findOthers(ctx, one, sources, reasons, installs);
    return {
      due: one,
      newScopes,
      required: requiredReadings(one, { sources, others, scopes }, now, ctx.config.removals),
    };
  });
}

/** By membership: what its removal waits for, if it is due. */
export async function loadRequired(
  ctx: Context,
  memberships: readonly { id: number; install: string }[],
  scopeOf: ToolScopeOf,
): Promise<Map<number, RequiredReadings>> {
  const { kysely } = ctx.database;
  const now = toInstant(ctx.clock.now());
  const required = new Map<number, RequiredReadings>();
  for (const [install, its] of Map.groupBy(memberships, (one) => one.install)) {
    const due = await loadDueRemovals(
      kysely,
      install,
      its.map(({ id }) => id),
      now,
    );
    for (const one of await judgeRemovals(ctx, kysely, due, now, scopeOf)) {
      if (one.required !== null) required.set(one.due.membershipId, one.required);
    }
  }
  return required;
}

async function loadInstalls(tx: Transaction): Promise<Map<string, InstallReadings>> {
  const rows = await tx
    .selectFrom('installState')
    .select(['install', 'heldSince', 'removalsHeldSince', 'activeListedAt'])
    .execute();
  return new Map(rows.map((row) => [row.install, row]));
}

type LoadedReason = Awaited<ReturnType<typeof loadReasons>>[number];

async function loadReasons(tx: Transaction, ids: readonly number[]) {
  return await tx
    .selectFrom('reason')
    .innerJoin('contract', onSame('contract', 'reason', ['install', 'contractId']))
    .innerJoin('link', onSame('link', 'reason', ['install', 'linkId']))
    .selectAll('contract')
    .select(['reason.membershipId', 'externalProjectId', 'externalProjectName'])
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
    const endedAt =
      ends
        .filter((end) => end !== null)
        .sort()
        .at(-1) ?? null;
    const unread = { install, heldSince: null, removalsHeldSince: null, activeListedAt: null };
    return { ...(readings.get(install) ?? unread), endedAt, canBeAsked: installs.has(install) };
  });
}

/** Other held installs that may reach the group. Mostly none is held. */
function findOthers(
  ctx: Context,
  group: Route,
  sources: readonly ReasonInstall[],
  reasons: readonly LoadedReason[],
  readings: ReadonlyMap<string, InstallReadings>,
): InstallReadings[] {
  const names = new Set(sources.map(({ install }) => install));
  const held = [...readings.values()].filter((one) => one.removalsHeldSince !== null && !names.has(one.install));
  if (held.length === 0) return [];
  const projects = [...new Map(reasons.map((reason) => [reason.externalProjectId, reason])).values()];
  const reaching = installsReaching(ctx.installs, ctx.routeLink, group, projects);
  return held.filter((one) => reaching.has(one.install));
}

type WaitingRemoval = Pick<JudgedRemoval, 'due'> & { required: RequiredReadings };

/** The wait for lists begins again after every other wait. */
function isNewWait({ required: { stage, waitsSince }, due: { waits } }: WaitingRemoval): boolean {
  return waits[`${stage}Since`] !== waitsSince || (stage !== 'lists' && waits.listsSince !== null);
}

async function saveWaits(tx: Transaction, waiting: readonly WaitingRemoval[]): Promise<void> {
  const rows = waiting.map(({ due: { membershipId, generation, cause, waits }, required: { stage, waitsSince } }) => {
    const since: Waits = { ...waits, listsSince: null, [`${stage}Since`]: waitsSince };
    return { membershipId, generation, isExplicit: isExplicit(cause), ...since };
  });
  await upsert(tx, 'awaitedReading', ['membershipId'], rows);
}
