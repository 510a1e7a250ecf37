import type { UsageNote, UsageRequest, UsageSighting } from '../../adapters/adapter.ts';
import { AppError, isTransient, toAppError } from '../../domain/errors.ts';
import type { SecretBox } from '../../keys/secret-box.ts';
import type { Alerts } from '../../lib/alerts.ts';
import { mapAtOnce } from '../../lib/at-once.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { maskText } from '../../lib/mask.ts';
import { callTool } from '../../tools/call-tool.ts';
import type { ContractSourceStore } from './contract-source-store.ts';
import { findPlaces, type Place, type PlaceOf, placeKey } from './find-places.ts';
import { firstReadDay } from './look-back.ts';
import type { Reading } from './merge-items.ts';
import { freezeWork, mergeWork } from './merge-work.ts';
import type { PlaceMember } from './place-member-store.ts';
import type { PlaceClaim, PlaceStore } from './place-store.ts';
import { sayTrouble, worsen } from './place-trouble.ts';
import { type ResolveDeps, resolveWaiting } from './resolve-waiting.ts';
import { assignWork } from './whose-work.ts';
import type { WorkStore } from './work-store.ts';

export interface ReadPlaceDeps extends ResolveDeps {
  places: PlaceStore;
  work: WorkStore;
  sources: ContractSourceStore;
  box: Pick<SecretBox, 'digests'>;
  placeOf: PlaceOf;
  lookbackMs: number;
  /** Whether what was reported of a task that was deleted stays reported. */
  deletedTasks: 'keep' | 'lower';
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
const checksAtOnce = 4;

/** All places where somebody may work, by `placeKey`. */
export async function listPlaces({
  sources,
  placeOf,
}: Pick<ReadPlaceDeps, 'sources' | 'placeOf'>): Promise<Map<string, Place>> {
  const inhabited = new Set((await sources.inhabitedGroups()).map((one) => JSON.stringify([one.tool, one.groupId])));
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
export async function readNextPlace(deps: ReadPlaceDeps, signal: AbortSignal, tool?: string): Promise<boolean> {
  const { places, clock, timeoutMs = readingMs } = deps;
  const now = toInstant(clock.now());
  const claim = await places.claim(now, instantIn(clock, timeoutMs + leaseSlackMs), tool);
  if (claim === null) return false;
  const place = (await listPlaces(deps)).get(placeKey(claim));
  const nothing = { beganAt: now, isComplete: false, gap: null };
  // Nobody works there any more, or the configuration leads elsewhere.
  if (place === undefined) await places.settle(claim, nothing);
  else await readClaimed(deps, claim, place, signal);
  return true;
}

async function readClaimed(deps: ReadPlaceDeps, claim: PlaceClaim, place: Place, signal: AbortSignal): Promise<void> {
  const { places, clock, logger } = deps;
  const { tool, scope } = place;
  const beganAt = clock.now();
  try {
    const isComplete = isCompleteDue(claim, beganAt);
    await resolveWaiting(deps, place, signal);
    const all = await deps.work.membersOf(tool, place.groupIds);
    const request = toRequest(deps, claim, place, isComplete);
    const told = await readTold(deps, place, request, signal);
    const { members, strays } = assignWork(all, told.sightings, toIsAddressOf(deps));
    // A look finds them by another account, or tells an operator.
    await deps.work.lookAgain(strays, toInstant(clock.now()));
    const reading = { beganAt, isComplete, isFirst: claim.readBeganAt === null };
    await mergeReading(deps, { claim, place, members, ...told, ...reading }, signal);
    const gap = [...told.gaps].sort().join('; ') || null;
    await places.settle(claim, { beganAt: toInstant(beganAt), isComplete, gap });
    logger.info({ tool, scope, isComplete }, 'The work at a place was read');
  } catch (thrown) {
    const error = toAppError(thrown);
    await postpone(deps, { claim, place, beganAt }, error, signal.aborted);
  }
}

interface FailedReading {
  claim: PlaceClaim;
  place: Place;
  beganAt: Date;
}

/** @param isStopping then nothing is wrong with the place */
async function postpone(
  { places, alerts, clock, logger }: ReadPlaceDeps,
  { claim, place, beganAt }: FailedReading,
  error: AppError,
  isStopping: boolean,
): Promise<void> {
  const { tool, scope, isLinked } = place;
  const [failure, now] = [maskText(error.message), clock.now()];
  const nextReadAt = instantIn(clock, backoffMs(claim.attempts + 1, error.retryAfterMs));
  if (isStopping) {
    await places.postpone(claim, { failure, nextReadAt, trouble: claim });
    return;
  }
  const trouble = worsen(claim, {
    isLinked,
    isGone: error.code === 'not_found',
    now: toInstant(now),
    refusedAt: isRefusal(error) && claim.attempts > 0 ? toInstant(beganAt) : null,
  });
  const says = sayTrouble(trouble, claim.readBeganAt, now);
  const toldAt = says === null ? trouble.toldAt : toInstant(now);
  await places.postpone(claim, { failure, nextReadAt, trouble: { ...trouble, toldAt } });
  logger.warn({ tool, scope, failure }, 'The work at a place could not be read');
  const since = claim.readBeganAt ?? trouble.failingSince;
  if (says !== null) alerts.raise('usage_unread', { tool, scope, since, failure }, says);
}

/** Of this place, by now: a token that is refused may be mended, and then everything can be read. */
function isRefusal(error: AppError): boolean {
  const isOfToken = error.code === 'unauthenticated' || error.code === 'forbidden';
  return !isTransient(error) && !isOfToken;
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

/** What a reading has told. */
interface Told {
  /** By the tool's id of whose work it is. */
  sightings: ReadonlyMap<string, UsageSighting[]>;
  /** The tasks that there are, as far as it told of any. */
  tasks: ReadonlySet<string>;
  /** What the tool cannot tell at present. */
  gaps: ReadonlySet<string>;
}

/** Collected until it has ended: a reading that breaks off says nothing. */
async function readTold(
  { adapters, timeoutMs = readingMs }: ReadPlaceDeps,
  { tool, scope }: Place,
  request: UsageRequest,
  signal: AbortSignal,
): Promise<Told> {
  const adapter = adapters.get(tool);
  return await callTool(timeoutMs, signal, async (callSignal) => {
    const read = adapter?.readUsage?.(scope, request, callSignal);
    if (read === undefined) throw new AppError('invalid', `The tool ${tool} tells no work`);
    return await collectTold(read, callSignal);
  });
}

async function collectTold(read: AsyncIterable<UsageSighting | UsageNote>, signal: AbortSignal): Promise<Told> {
  const sightings = new Map<string, UsageSighting[]>();
  const tasks = new Set<string>();
  const gaps = new Set<string>();
  for await (const one of read) {
    signal.throwIfAborted();
    if (one.of === 'task') tasks.add(one.taskId);
    else if (one.of === 'gap') gaps.add(one.says);
    else {
      const of = sightings.get(one.memberId);
      if (of === undefined) sightings.set(one.memberId, [one]);
      else of.push(one);
    }
  }
  return { sightings, tasks, gaps };
}

interface EndedReading extends Told {
  claim: PlaceClaim;
  place: Place;
  /** As they were before it began. */
  members: PlaceMember[];
  beganAt: Date;
  isComplete: boolean;
  /** Whether nobody had ever looked at the place before. */
  isFirst: boolean;
}

async function mergeReading(deps: ReadPlaceDeps, ended: EndedReading, signal: AbortSignal): Promise<void> {
  const { claim, place, members, sightings, isComplete } = ended;
  const seen = await deps.work.seenAt(claim);
  const concerned = members.filter(({ memberId }) => sightings.has(memberId) || (isComplete && seen.has(memberId)));
  const missing = concerned.filter(({ memberId, isIn }) => isIn && !sightings.has(memberId));
  const confirmed = new Set(
    (
      await mapAtOnce(missing, checksAtOnce, async (member) =>
        (await isStillThere(deps, place, member, signal)) ? [member.memberId] : [],
      )
    ).flat(),
  );
  for (const member of concerned) {
    const told = sightings.get(member.memberId) ?? [];
    const canLower = isComplete && member.isIn && (told.length > 0 || confirmed.has(member.memberId));
    await mergeMember(deps, ended, member, told, canLower);
  }
}

async function mergeMember(
  deps: ReadPlaceDeps,
  { claim, place, beganAt, isFirst, tasks }: EndedReading,
  member: PlaceMember,
  told: UsageSighting[],
  canLower: boolean,
): Promise<void> {
  const { clock, lookbackMs, work, deletedTasks } = deps;
  const firstDay = firstReadDay(deps);
  const { timeZone } = place;
  const isNew = Date.parse(member.addedAt ?? '') > beganAt.getTime() - lookbackMs;
  const toReading = (lowers: boolean): Reading => ({
    beganAt,
    timeZone,
    firstDay,
    lowers,
    tasks: deletedTasks === 'keep' ? tasks : null,
    countsFirstTotal: isNew || !isFirst,
  });
  const window = { firstDay, now: toInstant(clock.now()) };
  const holds = await work.update(claim, member, window, (known, hasEnded) =>
    hasEnded ? mergeWork(freezeWork(known), told, toReading(false)) : mergeWork(known, told, toReading(canLower)),
  );
  if (!holds) throw new AppError('unavailable', 'The reading took so long that another has begun');
}

function toIsAddressOf({ box }: Pick<ReadPlaceDeps, 'box'>) {
  return (email: string, digests: readonly string[]) =>
    box.digests(email.toLowerCase()).some((digest) => digests.includes(digest));
}

/** Whoever a whole reading says nothing of may have lost their account, and not their work. */
async function isStillThere(
  deps: ReadPlaceDeps,
  { tool }: Place,
  { groupId, trainerId, memberId, digests }: PlaceMember,
  signal: AbortSignal,
): Promise<boolean> {
  const { adapters, logger } = deps;
  const person = { trainerId, memberId, email: '', displayName: null };
  try {
    const find = (of: AbortSignal) => adapters.get(tool)?.findMember(groupId, person, of);
    const found = await callTool(checkMs, signal, async (of) => await find(of));
    if (found?.id !== memberId) return false;
    return found.email === null || toIsAddressOf(deps)(found.email, digests);
  } catch (error) {
    logger.warn({ err: error, tool, trainer: trainerId }, 'Whether somebody is still there is not known');
    return false;
  }
}

const checkMs = 15_000;
