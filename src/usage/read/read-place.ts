import type { UsageRequest, UsageSighting } from '../../adapters/adapter.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import { callTool } from '../../engine/call-tool.ts';
import type { Alerts } from '../../lib/alerts.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { mapBounded } from '../../lib/map-bounded.ts';
import { maskText } from '../../lib/mask.ts';
import type { ContractSourceStore } from './contract-source-store.ts';
import { findPlaces, type Place, type PlaceOf, placeKey } from './find-places.ts';
import { firstReadDay } from './look-back.ts';
import type { Reading } from './merge-items.ts';
import { freezeWork, mergeWork } from './merge-work.ts';
import type { PlaceClaim, PlaceStore } from './place-store.ts';
import { type ResolveDeps, resolveWaiting } from './resolve-waiting.ts';
import type { PlaceMember, WorkStore } from './work-store.ts';

export interface ReadPlaceDeps extends ResolveDeps {
  places: PlaceStore;
  work: WorkStore;
  sources: ContractSourceStore;
  placeOf: PlaceOf;
  lookbackMs: number;
  alerts: Alerts;
  logger: Logger;
  /** The longest that one reading may take. */
  timeoutMs?: number;
}

export const readingMs = 5 * 60_000;
/** What is merged after a reading still has its lease. */
const leaseSlackMs = 60_000;
/** Changes that were under way when the last reading began, and clocks that differ. */
const overlapMs = 10 * 60_000;
const completeEveryMs = 20 * 3_600_000;
const dayMs = 86_400_000;
const checksAtOnce = 4;

/** All places where somebody may work, by `placeKey`. */
export async function listPlaces({
  sources,
  placeOf,
}: Pick<ReadPlaceDeps, 'sources' | 'placeOf'>): Promise<Map<string, Place>> {
  const inhabited = new Set(
    (await sources.inhabitedGroups()).map((one) => JSON.stringify([one.tool, one.groupId])),
  );
  return findPlaces(await sources.links(), placeOf, ({ tool, groupId }) =>
    inhabited.has(JSON.stringify([tool, groupId])),
  );
}

/**
 * Takes a place that is to be read, if one is, and reads the work there. What is not read to its end
 * changes nothing.
 *
 * @param tool of this one; of any by default
 * @returns false where there was none to take
 */
export async function readNextPlace(
  deps: ReadPlaceDeps,
  signal: AbortSignal,
  tool?: string,
): Promise<boolean> {
  const { places, clock, timeoutMs = readingMs } = deps;
  const now = toInstant(clock.now());
  const claim = await places.claim(now, instantIn(clock, timeoutMs + leaseSlackMs), tool);
  if (claim === null) return false;
  const place = (await listPlaces(deps)).get(placeKey(claim));
  const nothing = { beganAt: now, isComplete: false };
  // Nobody works there any more, or the configuration leads elsewhere.
  if (place === undefined) await places.settle(claim, nothing);
  else await readClaimed(deps, claim, place, signal);
  return true;
}

async function readClaimed(
  deps: ReadPlaceDeps,
  claim: PlaceClaim,
  place: Place,
  signal: AbortSignal,
): Promise<void> {
  const { places, clock, logger } = deps;
  const { tool, scope } = place;
  const beganAt = clock.now();
  try {
    const isComplete = isCompleteDue(claim, beganAt);
    await resolveWaiting(deps, place, signal);
    const members = await membersAt(deps, place);
    const request = toRequest(deps, claim, place, isComplete);
    const sightings = await readSightings(deps, place, request, signal);
    const reading = { beganAt, isComplete, isFirst: claim.readBeganAt === null };
    await mergeReading(deps, { claim, place, members, sightings, ...reading }, signal);
    await places.settle(claim, { beganAt: toInstant(beganAt), isComplete });
    logger.info({ tool, scope, isComplete }, 'The work at a place was read');
  } catch (thrown) {
    const error = toAppError(thrown);
    const failure = maskText(error.message);
    const waitMs = backoffMs(claim.attempts + 1, error.retryAfterMs);
    await places.postpone(claim, failure, instantIn(clock, waitMs));
    if (signal.aborted) return;
    logger.warn({ tool, scope, failure }, 'The work at a place could not be read');
    reportOld(deps, claim, beganAt);
  }
}

function reportOld(
  { alerts }: ReadPlaceDeps,
  { tool, scope, readBeganAt }: PlaceClaim,
  now: Date,
): void {
  if (readBeganAt === null || now.getTime() - Date.parse(readBeganAt) < dayMs) return;
  alerts.raise(
    'usage_unread',
    { tool, scope, since: readBeganAt },
    'The work at a place could not be read for a day: nothing new of it is reported',
  );
}

function isCompleteDue({ completeBeganAt }: PlaceClaim, now: Date): boolean {
  return completeBeganAt === null || now.getTime() - Date.parse(completeBeganAt) > completeEveryMs;
}

function toRequest(
  deps: Pick<ReadPlaceDeps, 'lookbackMs' | 'clock'>,
  { readBeganAt }: PlaceClaim,
  { timeZone }: Place,
  isComplete: boolean,
): UsageRequest {
  const firstDay = firstReadDay(deps);
  const since = isComplete || readBeganAt === null ? null : Date.parse(readBeganAt) - overlapMs;
  return {
    timeZone,
    firstDay,
    changedSince: since === null ? null : new Date(since).toISOString(),
  };
}

/** Collected until it has ended: a reading that breaks off says nothing. By the tool's id. */
async function readSightings(
  { adapters, timeoutMs = readingMs }: ReadPlaceDeps,
  { tool, scope }: Place,
  request: UsageRequest,
  signal: AbortSignal,
): Promise<Map<string, UsageSighting[]>> {
  const adapter = adapters.get(tool);
  return await callTool(timeoutMs, signal, async (callSignal) => {
    const read = adapter?.readUsage?.(scope, request, callSignal);
    if (read === undefined) throw new AppError('invalid', `The tool ${tool} tells no work`);
    const sightings = new Map<string, UsageSighting[]>();
    for await (const sighting of read) {
      callSignal.throwIfAborted();
      const of = sightings.get(sighting.memberId);
      if (of === undefined) sightings.set(sighting.memberId, [sighting]);
      else of.push(sighting);
    }
    return sightings;
  });
}

/** By the tool's id; without those whose id more than one trainer has, as nobody can tell them apart. */
async function membersAt(
  { work }: ReadPlaceDeps,
  { tool, groupIds }: Place,
): Promise<PlaceMember[]> {
  const byId = Map.groupBy(await work.membersOf(tool, groupIds), ({ memberId }) => memberId);
  return [...byId.values()].flatMap((members) => {
    const inside = members.filter(({ isIn }) => isIn);
    const trainers = new Set((inside.length > 0 ? inside : members).map((one) => one.trainerId));
    const [first] = inside.length > 0 ? inside : members;
    return trainers.size === 1 && first !== undefined ? [first] : [];
  });
}

interface EndedReading {
  claim: PlaceClaim;
  place: Place;
  /** As they were before it began. */
  members: PlaceMember[];
  sightings: ReadonlyMap<string, UsageSighting[]>;
  beganAt: Date;
  isComplete: boolean;
  /** Whether nobody had ever looked at the place before. */
  isFirst: boolean;
}

async function mergeReading(
  deps: ReadPlaceDeps,
  ended: EndedReading,
  signal: AbortSignal,
): Promise<void> {
  const { claim, place, members, sightings, isComplete } = ended;
  const seen = await deps.work.seenAt(claim);
  const concerned = members.filter(
    ({ memberId }) => sightings.has(memberId) || (isComplete && seen.has(memberId)),
  );
  const missing = concerned.filter(({ memberId, isIn }) => isIn && !sightings.has(memberId));
  const confirmed = new Set(
    (
      await mapBounded(missing, checksAtOnce, async (member) =>
        (await isStillThere(deps, place, member, signal)) ? [member.memberId] : [],
      )
    ).flat(),
  );
  for (const member of concerned) {
    const told = sightings.get(member.memberId) ?? [];
    const canLower =
      isComplete && member.isIn && (told.length > 0 || confirmed.has(member.memberId));
    await mergeMember(deps, ended, member, told, canLower);
  }
}

async function mergeMember(
  deps: ReadPlaceDeps,
  { claim, place, beganAt, isFirst }: EndedReading,
  member: PlaceMember,
  told: UsageSighting[],
  canLower: boolean,
): Promise<void> {
  const { clock, lookbackMs, work } = deps;
  const firstDay = firstReadDay(deps);
  const { timeZone } = place;
  const isNew = Date.parse(member.addedAt ?? '') > beganAt.getTime() - lookbackMs;
  const toReading = (lowers: boolean): Reading => ({
    ...{ beganAt, timeZone, firstDay, lowers },
    countsFirstTotal: isNew || !isFirst,
  });
  const window = { firstDay, now: toInstant(clock.now()) };
  const holds = await work.update(claim, member, window, (known, hasEnded) =>
    hasEnded
      ? mergeWork(freezeWork(known), told, toReading(false))
      : mergeWork(known, told, toReading(canLower)),
  );
  if (!holds) throw new AppError('unavailable', 'The reading took so long that another has begun');
}

/** Whoever a whole reading says nothing of may have lost their account, and not their work. */
async function isStillThere(
  { adapters, logger }: ReadPlaceDeps,
  { tool }: Place,
  { groupId, trainerId, memberId }: PlaceMember,
  signal: AbortSignal,
): Promise<boolean> {
  const person = { trainerId, memberId, email: '', displayName: null };
  try {
    const find = (of: AbortSignal) => adapters.get(tool)?.findMember(groupId, person, of);
    const found = await callTool(checkMs, signal, async (of) => await find(of));
    return found?.id === memberId;
  } catch (error) {
    logger.warn(
      { err: error, tool, trainer: trainerId },
      'Whether somebody is still there is not known',
    );
    return false;
  }
}

const checkMs = 15_000;
