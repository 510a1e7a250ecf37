import { type Database, inTransaction } from '../../db/database.ts';
import { keepSetting, raiseSetting } from '../../db/setting-store.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import { lastTick } from '../../lib/last-tick.ts';
import type { Logger } from '../../lib/logger.ts';
import { createLoop, type Loop, type Polling } from '../../lib/loop.ts';
import type { InstallStateStore } from '../read/install-state-store.ts';

export interface ScheduleDeps extends Polling {
  database: Database;
  installStates: Pick<InstallStateStore, 'wantRead'>;
  /** A cron pattern, in UTC. */
  schedule: string;
  /** All that are configured. */
  /** By name; live. */
  installs: ReadonlyMap<string, unknown>;
  logger: Logger;
  clock: Clock;
  /** Called when there is something to be asked of the marketplace. */
  onReadWanted(): void;
}

/** Has every install read whenever the schedule says so. */
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
 * Of all instances on a database the first to come asks for the reads of a tick; ticks that were
 * missed make one. Before the first that anybody lived to see, none was missed.
 *
 * @returns whether reads were asked for
 */
export async function wantTick(
  { database, installStates, installs, clock }: ScheduleDeps,
  tick: string,
): Promise<boolean> {
  return await inTransaction(database, async (tx) => {
    await keepSetting(tx, 'reconcile_tick', tick);
    if (!(await raiseSetting(tx, 'reconcile_tick', tick))) return false;
    await installStates.wantRead(tx, [...installs.keys()], toInstant(clock.now()), 'schedule');
    return true;
  });
}
