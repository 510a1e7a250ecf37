import { type Database, inTransaction } from '../../db/database.ts';
import { keepSetting, raiseSetting, readSetting } from '../../db/setting-store.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { lastTick } from '../../lib/last-tick.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import type { PlaceStore } from '../read/place-store.ts';
import { listPlaces, type ReadPlaceDeps } from '../read/read-place.ts';
import type { ReportDeps } from './report-deps.ts';
import { reportUsage } from './report-usage.ts';

export interface ReportWorkerDeps extends ReportDeps, ReadPlaceDeps {
  database: Database;
  places: PlaceStore;
  /** A cron pattern, in UTC. */
  schedule: string;
  /** By name; live. */
  installs: ReadonlyMap<string, unknown>;
  /** Called when there is something to be read in a tool. */
  onReadingWanted(): void;
}

/** A tool that cannot be read does not keep back what is known of the others for longer. */
const longestWaitMs = 10 * 60_000;
const stallMs = 60 * 60_000;

/** Whenever the schedule says so: has all work read, and then reports what has changed. */
export function createReportWorker(deps: ReportWorkerDeps): Loop {
  const { logger, clock } = deps;
  return createLoop({
    name: 'report-usage',
    pollMs: deps.pollMs,
    logger,
    clock,
    stallMs,
    async run(signal, beat) {
      await wantTick(deps);
      await reportTick(deps, signal, beat);
      return 'idle';
    },
  });
}

/** Of all instances the first to come asks for the readings of a tick; missed ones make one. */
async function wantTick(deps: ReportWorkerDeps): Promise<void> {
  const { database, places, schedule, clock } = deps;
  const now = clock.now();
  const tick = lastTick(schedule, now);
  if ((await readSetting(database.kysely, 'usage_tick')) === tick) return;
  const all = [...(await listPlaces(deps)).values()];
  const isFirst = await inTransaction(database, async (tx) => {
    await keepSetting(tx, 'usage_tick', tick);
    await keepSetting(tx, 'usage_reported_tick', tick);
    if (!(await raiseSetting(tx, 'usage_tick', tick))) return false;
    // At once with the tick: else another would find nothing to be read, and report what is old.
    await places.want(tx, all, toInstant(now));
    return true;
  });
  if (isFirst) deps.onReadingWanted();
}

/** Once all is read that can be; by one instance. */
async function reportTick(deps: ReportWorkerDeps, signal: AbortSignal, beat: () => void): Promise<void> {
  const { database, places, installs, clock } = deps;
  const { kysely } = database;
  const [wanted, reported] = [
    await readSetting(kysely, 'usage_tick'),
    await readSetting(kysely, 'usage_reported_tick'),
  ];
  if (wanted === undefined || reported === undefined || wanted <= reported) return;
  // Since they were asked for, and not since the tick, which may be long over after a pause.
  const dueSince = instantIn(clock, -longestWaitMs);
  if ((await places.countDue(toInstant(clock.now()), { dueSince })) > 0) return;
  const isOurs = await inTransaction(database, (tx) => raiseSetting(tx, 'usage_reported_tick', wanted));
  if (isOurs) await reportUsage(deps, { installs: [...installs.keys()] }, signal, beat);
}
