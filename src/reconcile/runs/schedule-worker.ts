import { inTransaction } from '../../db/database.ts';
import { keepSetting, raiseSetting } from '../../db/setting-store.ts';
import type { Storage } from '../../keys/storage.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import { lastTick } from '../../lib/last-tick.ts';
import type { Logger } from '../../lib/logger.ts';
import { createLoop, type Loop, type Polling } from '../../lib/loop.ts';
import { wantRead } from '../read/install-state-store.ts';

export interface ScheduleDeps extends Storage, Polling {
  /** A cron pattern, in UTC. */
  schedule: string;
  /** Where the last tick is stored; `reconcile_tick` by default. */
  tickName?: 'reconcile_tick' | 'silent_tick';
  /** Which installs are to be read at a tick; all by default. */
  choose?(): Promise<readonly string[]>;
  /** By name. The Map always has what was loaded last. */
  installs: ReadonlyMap<string, unknown>;
  logger: Logger;
  clock: Clock;
  /** Call it when an install is to be read. */
  onReadWanted(): void;
}

/** How often it is looked which silent installs are to be read. */
export const silentSchedule = '* * * * *';

/** Has installs read at each tick of the schedule. */
export function createScheduleWorker(deps: ScheduleDeps): Loop {
  const { schedule, logger, clock } = deps;
  let seen: string | undefined;
  return createLoop({
    name: 'schedule',
    pollMs: deps.pollMs,
    logger,
    clock,
    async run() {
      const tick = lastTick(schedule, clock.now());
      if (tick === seen) return 'idle';
      if (await wantTick(deps, tick)) deps.onReadWanted();
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
  { database, installs, choose, tickName = 'reconcile_tick', clock }: ScheduleDeps,
  tick: string,
): Promise<boolean> {
  const wanted = (await choose?.()) ?? [...installs.keys()];
  return await inTransaction(database, async (tx) => {
    await keepSetting(tx, tickName, tick);
    if (!(await raiseSetting(tx, tickName, tick))) return false;
    await wantRead(tx, wanted, toInstant(clock.now()), 'schedule');
    return wanted.length > 0;
  });
}
