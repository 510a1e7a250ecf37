import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { keepSetting, raiseSetting } from '../../db/setting-store.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { lastTick } from '../../lib/days.ts';
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

const minuteMs = 60_000;
/**
 * It is asked each minute, so that an install is read every four minutes. A reading that fails does not count: it is
 * repeated after a few seconds, and asked for again a minute later. So an end without an event is found within five
 * minutes also where one reading fails.
 */
const readAfterMs = 3 * minuteMs;
/** Four readings of a feed as it is usually read. One of them may fail. */
const heardWithinMs = 2 * minuteMs;

/**
 * Which installs are to be read now whose sources do not tell of every end: those that were not read lately, and, each
 * minute, those whose feed was not, since nothing tells of their hires.
 */
export async function chooseSilent(ctx: Context): Promise<string[]> {
  const silent = [...ctx.sources].flatMap(([install, { hasSilentEnds }]) => (hasSilentEnds ? [install] : []));
  const resting = new Set(await listResting(ctx, silent));
  return silent.filter((install) => !resting.has(install));
}

/** Those of these installs that were read lately, and whose feed was. */
async function listResting({ database, clock }: Context, installs: readonly string[]): Promise<string[]> {
  if (installs.length === 0) return [];
  const rows = await database.kysely
    .selectFrom('installState')
    .innerJoin('feed', 'feed.install', 'installState.install')
    .select('installState.install')
    .distinct()
    .where('installState.install', 'in', installs)
    .where('readBeganAt', '>=', instantIn(clock, -readAfterMs))
    .where('feed.readAt', '>=', instantIn(clock, -heardWithinMs))
    .execute();
  return rows.map(({ install }) => install);
}
