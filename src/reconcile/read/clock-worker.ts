import type { Context } from '../../context.ts';
import { cutBack } from '../../db/cut-back-store.ts';
import { type Database, inTransaction } from '../../db/database.ts';
import type { DatabaseClock } from '../../db/database-clock.ts';
import { keepSetting, raiseSetting, readSetting } from '../../db/setting-store.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { lockEvidence, postponeInstalls } from '../../memberships/derivation-store.ts';
import { holdInstalls, ignoredStepMs } from './install-state-store.ts';

/** The check only reads the clock. It runs often, so that few rows get a wrong time before the clock is noticed. */
const lookEveryMs = 1000;
const correctEveryMs = 10_000;
/** How often the latest time is stored, for the next process. */
const noteEveryMs = 60_000;

/**
 * Corrects the clock, and notices if it was ahead. Otherwise readings from the future would outweigh
 * everything that is read and delivered until then, and leases and delays would last until then.
 *
 * @param clock the clock of `ctx`
 */
export function createClockWorker(ctx: Context, clock: DatabaseClock): Loop {
  let latestMs = Number.NEGATIVE_INFINITY;
  let notedMs = Number.NEGATIVE_INFINITY;
  let correctedAt = performance.now();
  return createLoop({
    name: 'clock',
    intervalMs: lookEveryMs,
    logger: ctx.logger,
    clock,
    async run() {
      if (performance.now() - correctedAt >= correctEveryMs) {
        await clock.correct();
        correctedAt = performance.now();
      }
      // Kept until the times are cut back or the latest time is stored.
      latestMs = Math.max(latestMs, clock.takeLatest().getTime());
      if (Math.abs(latestMs - notedMs) < noteEveryMs && !isAhead(latestMs, clock)) return 'idle';
      if (await mendAfterSetBack(ctx, latestMs)) ctx.wake('jobs');
      latestMs = notedMs = clock.now().getTime();
      return 'idle';
    },
  });
}

function isAhead(latestMs: number, clock: Clock): boolean {
  return latestMs - clock.now().getTime() >= ignoredStepMs;
}

/**
 * If a clock of any instance was ahead, cuts back all stored times to the present, and has every
 * install read before anything older is acted on. Runs at the start and then regularly.
 *
 * @param latestMs the latest time that the clock has shown
 * @returns whether a clock was ahead
 */
export async function mendAfterSetBack(ctx: Context, latestMs: number): Promise<boolean> {
  const { database, clock, config, alerts } = ctx;
  const aheadMs = await measureAhead(database, clock, latestMs);
  if (aheadMs < ignoredStepMs) return false;
  const installs = [...ctx.installs.keys()];
  // First, so that a process that dies here finds it ahead again.
  await holdInstalls(ctx, installs, toInstant(clock.now()));
  await inTransaction(database, async (tx) => {
    await lockEvidence(ctx, tx);
    const { graceMs, revokedGraceMs } = config.removals;
    await cutBack(tx, clock.now(), Math.max(graceMs, revokedGraceMs));
    if (installs.length > 0) await postponeInstalls(tx, installs);
  });
  alerts.raise('clock_set_back', { aheadSeconds: Math.round(aheadMs / 1000) });
  return true;
}

/**
 * Stores the latest time that the clock has shown.
 *
 * @returns by how much that time, or the last read of an install, is ahead of now
 */
async function measureAhead(database: Database, clock: Clock, latestMs: number): Promise<number> {
  return await inTransaction(database, async (tx) => {
    const latest = toInstant(new Date(latestMs));
    await keepSetting(tx, 'latest_instant', latest);
    await raiseSetting(tx, 'latest_instant', latest);
    const readings = tx.selectFrom('installState').select((eb) => eb.fn.max('readBeganAt').as('at'));
    const read = (await readings.executeTakeFirst())?.at ?? latest;
    const come = (await readSetting(tx, 'latest_instant')) ?? latest;
    return Math.max(Date.parse(come), Date.parse(read)) - clock.now().getTime();
  });
}
