import { randomUUID } from 'node:crypto';
import type { Context } from '../context.ts';
import { holdLock, releaseLock } from '../db/lock.ts';
import { type AppError, toAppError } from '../domain/errors.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { maskText } from '../lib/mask.ts';
import { createTurns } from '../lib/turns.ts';
import { isShared } from '../tools/accounts.ts';
import {
  type Claim,
  claimMemberships,
  convergeLeaseMs,
  installsWithMembershipsDue,
  type MembershipClaimOrder,
  putBackClaim,
} from './claim-store.ts';
import { convergeMembership } from './converge-membership.ts';
import type { ConvergeResult } from './converge-result.ts';
import { askTool, toolOf } from './converge-steps.ts';
import {
  adaptPace,
  type Breaker,
  createBreaker,
  firstPace,
  type PaceSample,
  type Slots,
  shareSlots,
  slotsOf,
} from './throttle.ts';
import {
  clearToolTrouble,
  hasRefusedMemberships,
  listToolTroubles,
  recordToolTrouble,
  retryFailedOfTool,
  retryRefusedOfTool,
} from './tool-trouble-store.ts';

/** Parts that the worker must not import. */
export interface ConvergePorts {
  /** Runs before each claim. */
  beforeClaiming(): Promise<unknown>;
  /** The time between the two looks that confirm a removal. */
  secondLookMs?: number | undefined;
}

/** The tool is quick if a membership takes less than this share of the time-out of one call. */
const quickShare = 0.25;

/**
 * Converges the memberships of one tool, several at a time. It takes the next one as soon as one is done, so that a
 * slow call holds up nothing else.
 */
export function createConvergeWorker(ctx: Context, tool: string, ports: ConvergePorts): Loop {
  const { pollMs, logger, clock } = ctx;
  const { adapter } = toolOf(ctx, tool);
  const token = randomUUID();
  const isToolExclusive = adapter.capabilities.exclusive === 'tool';
  const pacer = createPacer(ctx, tool);
  const breaker = createBreaker(clock);
  const underway: Underway = new Map();
  const turns = createTurns();
  const watch = createWatch(ctx, tool, breaker);

  const loop = createLoop({
    name: `converge ${tool}`,
    pollMs,
    logger,
    clock,
    async run(signal) {
      if (await watch.isPaused(signal)) return 'idle';
      const waiting = turns.inOrder(await installsWithMembershipsDue(ctx, tool, toInstant(clock.now())));
      if (waiting.length === 0 && underway.size === 0) return 'idle';
      // Renew the lock in every round, so that no other instance gets it while this one lives.
      if (isToolExclusive && !(await holdTool(ctx, tool, token))) return 'idle';
      const slots = pacer.slots();
      const claimed = await claimShares(ctx, tool, ports, waiting, underway, slots);
      // Two installs that share an odd number of slots leave one free.
      const isFull = underway.size + claimed.length >= slots.pace - (slots.pace % 2);
      for (const claim of claimed) start(claim, isFull, signal);
      return 'idle';
    },
  });

  function start(claim: Claim, isFull: boolean, signal: AbortSignal): void {
    turns.served(claim.install);
    const begunAtMs = clock.now().getTime();
    const before = isToolExclusive ? [...underway.keys()] : [];
    const isStale = () => breaker.isOpen() || clock.now().getTime() - begunAtMs > convergeLeaseMs / 2;
    const work = Promise.all(before)
      .then(() => (before.length > 0 && isStale() ? putBack(ctx, claim) : converge(ctx, claim, signal, ports)))
      .then((result) => {
        if (result === null) return;
        if (result.isOfToolItself !== false) breaker.report(result);
        pacer.report(result, { begunAtMs, isFull });
      })
      .finally(() => {
        underway.delete(work);
        // What is done one after the other is claimed together: a hire in a roster takes 7.1 ms of the processor instead of 8.4.
        if (!isToolExclusive || underway.size <= pacer.slots().pace / 2) loop.wake();
      });
    underway.set(work, claim.install);
  }

  return {
    ...loop,
    async stop() {
      await loop.stop();
      await Promise.all([...underway.keys(), watch.ended()]);
      if (isToolExclusive) await releaseLock(ctx.database, lockName(tool), token);
    },
  };
}

/** Decides whether to pause all calls to the tool. Checks run beside the other work. */
function createWatch(ctx: Context, tool: string, breaker: Breaker) {
  const { clock } = ctx;
  let checking: Promise<void> = Promise.resolve();
  let hasBegun = false;
  let isForRefused = false;

  return {
    async isPaused(signal: AbortSignal): Promise<boolean> {
      if (!hasBegun) {
        // Refused memberships wait up to an hour, but the token may have been fixed before this start.
        isForRefused = await hasRefusedMemberships(ctx, tool, toInstant(clock.now()));
        // The process that recorded the trouble may be gone, so this one checks again.
        const isTroubled = (await listToolTroubles(ctx)).some((trouble) => trouble.tool === tool);
        if (isForRefused || isTroubled) breaker.report({ errorCode: 'forbidden' });
        hasBegun = true;
      }
      // A refusal for one group holds up no other group.
      if (breaker.isCheckDue()) {
        checking = check(ctx, tool, breaker, signal, isForRefused);
        isForRefused = false;
      }
      return breaker.isOpen() && !(await probe(ctx, tool, breaker, signal));
    },
    ended: () => checking,
  };
}

/** The install of each running work. */
type Underway = Map<Promise<void>, string>;

/** Decides how many memberships are worked on at once, from earlier results. */
function createPacer(ctx: Context, tool: string) {
  const { installs, logger, clock } = ctx;
  const { concurrency: maxAtOnce, timeoutMs } = toolOf(ctx, tool);
  const limits = { maxAtOnce, quickMs: timeoutMs * quickShare };
  let pace = firstPace;
  return {
    slots: (): Slots => ({ pace: slotsOf(pace), max: maxAtOnce, isShared: isShared(tool, installs) }),
    report({ errorCode }: ConvergeResult, begun: Pick<PaceSample, 'begunAtMs' | 'isFull'>) {
      const before = slotsOf(pace);
      const isUnanswered = errorCode === 'unavailable' || errorCode === 'rate_limited';
      const trip = { ...begun, endedAtMs: clock.now().getTime(), isUnanswered };
      pace = adaptPace(pace, trip, limits);
      const slots = slotsOf(pace);
      if (slots < before) logger.info({ tool, slots }, 'The tool does not keep up, so it gets fewer calls at once');
    },
  };
}

/** Fills the free slots. Slots that an install cannot use go to the others. */
async function claimShares(
  ctx: Context,
  tool: string,
  { beforeClaiming }: ConvergePorts,
  waiting: string[],
  underway: Underway,
  slots: Slots,
): Promise<Claim[]> {
  const running = Map.groupBy(underway.values(), (install) => install);
  const counts = new Map([...running].map(([install, { length }]) => [install, length]));
  const claimed: Claim[] = [];
  for (let candidates = waiting; candidates.length > 0; ) {
    const shares = shareSlots(candidates, counts, slots);
    const satisfied: string[] = [];
    for (const [install, limit] of shares) {
      await beforeClaiming();
      const claims = await claimMemberships(ctx, toOrder(ctx, tool, install, limit));
      claimed.push(...claims);
      counts.set(install, (counts.get(install) ?? 0) + claims.length);
      if (claims.length === limit) satisfied.push(install);
    }
    // If every install has used its full share, no slot is left.
    if (satisfied.length === shares.size) break;
    candidates = satisfied;
  }
  return claimed;
}

function toOrder(ctx: Context, tool: string, install: string, limit: number): MembershipClaimOrder {
  const { clock } = ctx;
  const { exclusive, invitation } = toolOf(ctx, tool).adapter.capabilities;
  const times = { now: toInstant(clock.now()), leasedUntil: instantIn(clock, convergeLeaseMs) };
  // A trainer has one account in the tool, which only one call at a time may change.
  const exclusiveBy = exclusive === 'group' ? (['groupId', 'trainerId'] as const) : (['trainerId'] as const);
  const makesLogins = invitation === 'password';
  return { tool, install, token: randomUUID(), limit, exclusiveBy, makesLogins, ...times };
}

/**
 * Checks a tool that refused a call. If the check passes, the token may have been fixed since: memberships that were
 * refused once are retried, and after a start all of them.
 */
async function check(
  ctx: Context,
  tool: string,
  breaker: Breaker,
  signal: AbortSignal,
  isForRefused: boolean,
): Promise<void> {
  const { logger } = ctx;
  breaker.checking();
  const asked = askTool(ctx, { tool, signal }, (adapter, ending) => adapter.check(ending));
  const failure = await asked.then(() => null, toAppError);
  if (signal.aborted) return;
  const isPaused = breaker.checked(
    failure === null ? {} : { errorCode: failure.code, retryAfterMs: failure.retryAfterMs },
  );
  if (failure !== null && !isPaused) return;
  try {
    if (failure === null) await retryRefusedOfTool(ctx, tool, toInstant(ctx.clock.now()), isForRefused);
    await recordTrouble(ctx, tool, breaker, failure);
  } catch (error) {
    // A failure of the database says nothing about the tool. The next check tries again.
    breaker.report({ errorCode: 'forbidden' });
    logger.error({ tool, err: toAppError(error) }, 'The result of a check could not be stored');
    return;
  }
  if (failure === null) logger.info({ tool }, 'The tool passed its check: its refusals concern single memberships');
  else {
    const says = { errorCode: failure.code, failure: maskText(failure.message).slice(0, 300) };
    logger.warn({ tool, ...says }, 'The tool failed its check, so calls to it are paused');
  }
}

/** @returns whether the tool answers again */
async function probe(ctx: Context, tool: string, breaker: Breaker, signal: AbortSignal): Promise<boolean> {
  const { logger, clock } = ctx;
  if (!breaker.isProbeDue()) return false;
  try {
    await askTool(ctx, { tool, signal }, (adapter, ending) => adapter.check(ending));
  } catch (error) {
    breaker.probed(false);
    logger.warn({ tool, err: toAppError(error) }, 'Calls to the tool are still paused');
    if (!signal.aborted) await recordTrouble(ctx, tool, breaker, toAppError(error));
    return false;
  }
  // Retry before closing the breaker. If the database is down, the next probe tries again.
  await retryFailedOfTool(ctx, tool, toInstant(clock.now()));
  breaker.probed(true);
  await recordTrouble(ctx, tool, breaker, null);
  logger.info({ tool }, 'The tool answers again');
  return true;
}

/** Records the trouble, so that operators see it in every process. */
async function recordTrouble(ctx: Context, tool: string, breaker: Breaker, error: AppError | null): Promise<void> {
  const asksAgainAt = breaker.probesAt();
  try {
    if (error === null || asksAgainAt === null) return await clearToolTrouble(ctx, tool);
    const message = maskText(error.message).slice(0, 300);
    const times = { since: toInstant(ctx.clock.now()), asksAgainAt: toInstant(asksAgainAt) };
    await recordToolTrouble(ctx, { tool, errorCode: error.code, message, ...times });
  } catch (thrown) {
    ctx.logger.warn({ tool, err: thrown }, 'Could not store the state of the tool');
  }
}

function lockName(tool: string): string {
  return `tool:${tool}`;
}

/** If two calls at once could undo each other, as in a file, only one instance works on the tool. */
async function holdTool({ database, clock }: Context, tool: string, token: string): Promise<boolean> {
  const now = toInstant(clock.now());
  return await holdLock(database, lockName(tool), token, now, instantIn(clock, convergeLeaseMs));
}

/** Others may be more urgent than a claim that waited behind slow or refused calls. If this fails, its lease expires. */
async function putBack(ctx: Context, claim: Claim): Promise<null> {
  await putBackClaim(ctx, claim, toInstant(ctx.clock.now())).catch(() => undefined);
  return null;
}

async function converge(
  ctx: Context,
  claim: Claim,
  signal: AbortSignal,
  { secondLookMs }: ConvergePorts,
): Promise<ConvergeResult | null> {
  const { metrics, alerts, logger } = ctx;
  const { tool } = claim;
  const subject = { tool, membership: claim.id, group: claim.groupId, trainer: claim.trainerId };
  try {
    const result = await convergeMembership(ctx, claim, signal, secondLookMs);
    if (result === null) return null;
    if (result.wantsReset) ctx.wake('resets');
    const { operation, outcome, message, nextAttemptAt, mayBeIn, metAfterMs } = result;
    metrics.toolCalls.inc({ tool, operation, outcome });
    if (metAfterMs !== null) {
      const seconds = claim.wanted ? metrics.accessSeconds : metrics.lockoutSeconds;
      seconds.observe({ install: claim.install }, metAfterMs / 1000);
    }
    const hasFailed = outcome === 'failed' || outcome === 'refused' || outcome === 'unproven';
    const says = { ...subject, operation, outcome };
    if (hasFailed) logger.warn({ ...says, message, nextAttemptAt }, 'A membership could not be brought in line');
    else logger.info(says, 'A membership is in line');
    if (mayBeIn !== undefined) alerts.raise('absence_unproven', { ...subject, accounts: mayBeIn });
    return result;
  } catch (error) {
    // The lease expires, and the membership is claimed again.
    logger.error({ ...subject, err: error }, 'The outcome of a membership could not be stored');
    return null;
  }
}
