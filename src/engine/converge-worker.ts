import { randomUUID } from 'node:crypto';
import type { LockStore } from '../db/lock-store.ts';
import { toAppError } from '../domain/errors.ts';
import type { Alerts } from '../lib/alerts.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { maskText } from '../lib/mask.ts';
import type { Metrics } from '../lib/metrics.ts';
import { createTurns } from '../lib/turns.ts';
import { adaptPace, firstPace, slotsOf, type Trip } from './adapt-pace.ts';
import { type Breaker, createBreaker } from './breaker.ts';
import { callTool } from './call-tool.ts';
import type { Claim, ClaimOrder } from './claim-store.ts';
import { convergeMembership } from './converge-membership.ts';
import { type ConvergeDeps, leaseMs } from './converge-steps.ts';
import type { Result } from './settle-store.ts';
import { shareSlots } from './share-slots.ts';

export interface ConvergeWorkerDeps extends ConvergeDeps {
  tool: string;
  /** How many memberships of the tool are worked on at once, as long as it keeps up. */
  concurrency: number;
  locks: LockStore;
  metrics: Metrics;
  alerts: Alerts;
  logger: Logger;
}

const pollMs = 1000;
/** Of the longest that one call may take: a membership that took no longer was no trouble. */
const quickShare = 0.25;

/**
 * Brings one tool in line with what is wanted in it. Works on several memberships at once and takes
 * the next as soon as one is done, so that a slow call holds up nothing but itself.
 */
export function createConvergeWorker(given: ConvergeWorkerDeps): Loop {
  // A look and a call fit into the lease, whatever was configured.
  const deps = { ...given, timeoutMs: Math.min(given.timeoutMs, leaseMs / 2) };
  const { tool, adapter, claims, logger, clock, locks } = deps;
  const token = randomUUID();
  const isToolExclusive = adapter.capabilities.exclusive === 'tool';
  const pacer = createPacer(deps);
  const breaker = createBreaker(clock);
  const underway: Underway = new Map();
  const turns = createTurns();
  let checking: Promise<void> = Promise.resolve();

  const loop = createLoop({
    ...{ name: `converge ${tool}`, intervalMs: pollMs, logger, clock },
    async run(signal) {
      if (await isLeftAlone(signal)) return 'idle';
      const waiting = turns.inOrder(await claims.installsDue(tool, toInstant(clock.now())));
      if (waiting.length === 0 && underway.size === 0) return 'idle';
      // Held again at every turn, so that it is never lost to others while this one lives.
      if (isToolExclusive && !(await holdTool(deps, token))) return 'idle';
      const slots = pacer.slots();
      const claimed = await claimShares(deps, waiting, underway, slots);
      const isFull = underway.size + claimed.length >= slots;
      for (const claim of claimed) start(claim, isFull, signal);
      return 'idle';
    },
  });

  async function isLeftAlone(signal: AbortSignal): Promise<boolean> {
    // Beside what goes on: what is refused about one group holds up no other.
    if (breaker.isCheckDue()) checking = check(deps, breaker, signal);
    return breaker.isOpen() && !(await probe(deps, breaker, signal));
  }

  function start(claim: Claim, isFull: boolean, signal: AbortSignal): void {
    turns.served(claim.install);
    const begunAtMs = clock.now().getTime();
    const work = converge(deps, claim, signal)
      .then((result) => {
        if (result === null) return;
        breaker.report(result);
        pacer.report(result, { begunAtMs, isFull });
      })
      .finally(() => {
        underway.delete(work);
        loop.wake();
      });
    underway.set(work, claim.install);
  }

  return {
    ...loop,
    async stop() {
      await loop.stop();
      await Promise.all([...underway.keys(), checking]);
      if (isToolExclusive) await locks.release(lockName(tool), token);
    },
  };
}

/** By what is under way, the install it is for. */
type Underway = Map<Promise<void>, string>;

/** How many are worked on at once, from what has become of them. */
function createPacer({ tool, adapter, concurrency, timeoutMs, logger, clock }: ConvergeWorkerDeps) {
  const most = adapter.capabilities.exclusive === 'tool' ? 1 : concurrency;
  const limits = { most, quickMs: timeoutMs * quickShare };
  let pace = firstPace;
  return {
    slots: () => slotsOf(pace),
    report({ errorCode }: Result, begun: Pick<Trip, 'begunAtMs' | 'isFull'>) {
      const before = slotsOf(pace);
      const isUnanswered = errorCode === 'unavailable' || errorCode === 'rate_limited';
      const trip = { ...begun, endedAtMs: clock.now().getTime(), isUnanswered };
      pace = adaptPace(pace, trip, limits);
      const slots = slotsOf(pace);
      if (slots < before) logger.info({ tool, slots }, 'A tool does not keep up: it is asked less');
    },
  };
}

/** Fills the free slots; what an install leaves, because its work is held up, others may have. */
async function claimShares(
  deps: ConvergeWorkerDeps,
  waiting: string[],
  underway: Underway,
  slots: number,
): Promise<Claim[]> {
  const counts = countByInstall(underway);
  const claimed: Claim[] = [];
  for (let candidates = waiting; candidates.length > 0; ) {
    const shares = shareSlots(candidates, counts, slots);
    const satisfied: string[] = [];
    for (const [install, limit] of shares) {
      const claims = await deps.claims.claim(toOrder(deps, install, limit));
      claimed.push(...claims);
      counts.set(install, (counts.get(install) ?? 0) + claims.length);
      if (claims.length === limit) satisfied.push(install);
    }
    // All got what they were given: what is left over now was not theirs to take.
    if (satisfied.length === shares.size) break;
    candidates = satisfied;
  }
  return claimed;
}

function toOrder(deps: ConvergeWorkerDeps, install: string, limit: number): ClaimOrder {
  const { tool, clock } = deps;
  const times = { now: toInstant(clock.now()), leasedUntil: instantIn(clock, leaseMs) };
  const exclusiveBy = toExclusiveBy(deps);
  const makesLogins = deps.adapter.capabilities.invitation === 'password';
  return { tool, install, token: randomUUID(), limit, exclusiveBy, makesLogins, ...times };
}

/** Asks a tool that was refused to somebody whether it lets us in at all. */
async function check(
  { tool, adapter, timeoutMs, alerts, logger }: ConvergeWorkerDeps,
  breaker: Breaker,
  signal: AbortSignal,
): Promise<void> {
  breaker.checking();
  try {
    await callTool(timeoutMs, signal, (callSignal) => adapter.check(callSignal));
    breaker.checked({});
    logger.info(
      { tool },
      'A tool answers: what it refuses is the trouble of those whom it concerns',
    );
  } catch (thrown) {
    if (signal.aborted) return;
    const { code: errorCode, retryAfterMs, message } = toAppError(thrown);
    if (!breaker.checked({ errorCode, retryAfterMs })) return;
    const fields = { tool, errorCode, message: maskText(message).slice(0, 300) };
    alerts.raise('tool_left_alone', fields, 'A tool is left alone for a while');
  }
}

/** @returns whether the tool answers again */
async function probe(
  { tool, adapter, claims, timeoutMs, logger, clock }: ConvergeWorkerDeps,
  breaker: Breaker,
  signal: AbortSignal,
): Promise<boolean> {
  if (!breaker.isProbeDue()) return false;
  try {
    await callTool(timeoutMs, signal, (callSignal) => adapter.check(callSignal));
  } catch (error) {
    breaker.probed(false);
    logger.warn({ tool, err: toAppError(error) }, 'A tool is still left alone');
    return false;
  }
  breaker.probed(true);
  logger.info({ tool }, 'A tool answers again');
  await claims.tryAgain(tool, toInstant(clock.now()));
  return true;
}

/** What must not be changed by two calls at once, beyond the membership itself. */
function toExclusiveBy({ adapter }: ConvergeWorkerDeps): ClaimOrder['exclusiveBy'] {
  return [
    ...(adapter.capabilities.exclusive === 'group' ? (['groupId'] as const) : []),
    // Their account is one, by whatever words and in however many groups they are wanted.
    'trainerId',
  ];
}

function countByInstall(underway: Underway): Map<string, number> {
  const counts = new Map<string, number>();
  for (const install of underway.values()) counts.set(install, (counts.get(install) ?? 0) + 1);
  return counts;
}

function lockName(tool: string): string {
  return `tool:${tool}`;
}

/** Where two calls at once could undo each other (a file), one instance at a time has the tool. */
async function holdTool({ tool, locks, clock }: ConvergeWorkerDeps, token: string) {
  return await locks.hold(lockName(tool), token, toInstant(clock.now()), instantIn(clock, leaseMs));
}

async function converge(
  deps: ConvergeWorkerDeps,
  claim: Claim,
  signal: AbortSignal,
): Promise<Result | null> {
  const { tool, metrics, logger } = deps;
  const subject = { tool, membership: claim.id, group: claim.groupId, trainer: claim.trainerId };
  try {
    const result = await convergeMembership(deps, claim, signal);
    if (result === null) return null;
    const { operation, outcome, message, nextAttemptAt } = result;
    metrics.toolCalls.inc({ tool, operation, outcome });
    const hasFailed = outcome === 'failed' || outcome === 'refused';
    if (hasFailed)
      logger.warn(
        { ...subject, operation, outcome, message, nextAttemptAt },
        'A membership could not be brought in line',
      );
    else logger.info({ ...subject, operation, outcome }, 'A membership is in line');
    return result;
  } catch (error) {
    // The lease runs out, and the membership is taken again.
    logger.error({ ...subject, err: error }, 'The outcome of a membership could not be stored');
    return null;
  }
}
