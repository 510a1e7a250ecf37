import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { keepSetting, raiseSetting } from '../../db/setting-store.ts';
import { toInstant } from '../../lib/clock.ts';
import { lastTick } from '../../lib/last-tick.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { wantRead } from '../read/install-state-store.ts';

interface Schedule {
  /** A cron pattern, in UTC. */
  pattern: string;
  /** Where the last tick is stored. */
  tickName: 'reconcile_tick' | 'silent_tick';
  /** Which installs are to be read at a tick. */
  choose(): Promise<readonly string[]>;
}

/** How often it is looked which silent installs are to be read. */
export const silentSchedule = '* * * * *';

/** Has installs read at each tick of the schedule. */
export function createScheduleWorker(ctx: Context, schedule: Schedule): Loop {
  const { logger, clock } = ctx;
  let seen: string | undefined;
  return createLoop({
    name: 'schedule',
    pollMs: ctx.pollMs,
    logger,
    clock,
    async run() {
      const tick = lastTick(schedule.pattern, clock.now());
      if (tick === seen) return 'idle';
      if (await wantTick(ctx, schedule, tick)) ctx.wake('reads');
      seen = tick;
      return 'idle';
    },
  });
}

/**
 * The first of all instances requests the reads of a tick. Missed ticks count as one. On a new
 * database no tick was missed.
 *
 * @returns whether reads were requested
 */
export async function wantTick(
  { database, clock }: Context,
  { tickName, choose }: Schedule,
  tick: string,
): Promise<boolean> {
  const wanted = await choose();
  return await inTransaction(database, async (tx) => {
    await keepSetting(tx, tickName, tick);
    if (!(await raiseSetting(tx, tickName, tick))) return false;
    await wantRead(tx, wanted, toInstant(clock.now()), 'schedule');
    return wanted.length > 0;
  });
}
