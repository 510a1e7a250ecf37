import { inTransaction } from '../../db/database.ts';
import { keepSetting, raiseSetting, readSetting } from '../../db/setting-store.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { lastTick } from '../../lib/last-tick.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { listWorkScopes, type ReadScopeDeps } from '../read/read-scope.ts';
import { countDueScopes, wantScopes } from '../read/scope-store.ts';
import type { ReportDeps } from './report-deps.ts';
import { reportUsage } from './report-usage.ts';

export interface ReportWorkerDeps extends ReportDeps, ReadScopeDeps {
  /** A cron pattern, in UTC. */
  schedule: string;
  /** The installs by name, always up to date. */
  installs: ReadonlyMap<string, unknown>;
  /** Called after a report: compares what was read with what the marketplace has by then. */
  compare(signal: AbortSignal, onProgress: () => void): Promise<void>;
  /** Called when scopes have become due in the tools. */
  onReadingWanted(): void;
}

/** How long a tool that cannot be read delays the report of the others. */
const longestWaitMs = 10 * 60_000;
const stallMs = 60 * 60_000;

/** On each tick of the schedule, has all work read and then reports what has changed. */
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

/** The first instance asks for the readings of a tick. Several missed ticks become one. */
async function wantTick(deps: ReportWorkerDeps): Promise<void> {
  const { database, schedule, clock } = deps;
  const now = clock.now();
  const tick = lastTick(schedule, now);
  if ((await readSetting(database.kysely, 'usage_tick')) === tick) return;
  const all = [...(await listWorkScopes(deps)).values()];
  const isFirst = await inTransaction(database, async (tx) => {
    await keepSetting(tx, 'usage_tick', tick);
    await keepSetting(tx, 'usage_reported_tick', tick);
    if (!(await raiseSetting(tx, 'usage_tick', tick))) return false;
    // In one transaction with the tick: otherwise another instance would find nothing due, and report old work.
    await wantScopes(tx, all, toInstant(now));
    return true;
  });
  if (isFirst) deps.onReadingWanted();
}

/** Reports once everything was read that can be; one instance does it. */
async function reportTick(deps: ReportWorkerDeps, signal: AbortSignal, beat: () => void): Promise<void> {
  const { database, installs, clock } = deps;
  const { kysely } = database;
  const [wanted, reported] = [
    await readSetting(kysely, 'usage_tick'),
    await readSetting(kysely, 'usage_reported_tick'),
  ];
  if (wanted === undefined || reported === undefined || wanted <= reported) return;
  // Counted from the request and not from the tick, which may be long over after a pause.
  const dueSince = instantIn(clock, -longestWaitMs);
  if ((await countDueScopes(deps, toInstant(clock.now()), { dueSince })) > 0) return;
  const isOurs = await inTransaction(database, (tx) => raiseSetting(tx, 'usage_reported_tick', wanted));
  if (!isOurs) return;
  await reportUsage(deps, { installs: [...installs.keys()] }, signal, beat);
  await deps.compare(signal, beat);
}
