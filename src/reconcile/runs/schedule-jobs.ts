import { usualSchedule } from '../../config/config-schema.ts';
import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { scheduledJob } from '../../jobs/job.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { wantRead } from '../read/install-state-store.ts';

/** Has all installs read. */
export const scheduleJob = scheduledJob(
  'schedule',
  ({ config }) => config.reconcile.schedule,
  async (ctx) => {
    const { config, installs } = ctx;
    // Without a public address all installs are read each minute, except those that `silentJob` takes care of.
    const isPolled = config.receiver.publicUrl === undefined && config.reconcile.schedule === usualSchedule({});
    const silent = new Set(isPolled ? listSilent(ctx) : []);
    await wantScheduled(
      ctx,
      [...installs.keys()].filter((install) => !silent.has(install)),
    );
  },
);

/** Has the installs read whose sources do not report every end. */
export const silentJob = scheduledJob(
  'silent schedule',
  () => '* * * * *',
  async (ctx) => await wantScheduled(ctx, await chooseSilent(ctx)),
);

async function wantScheduled(ctx: Context, installs: readonly string[]): Promise<void> {
  const { database, clock } = ctx;
  await inTransaction(database, (tx) => wantRead(tx, installs, toInstant(clock.now()), 'schedule'));
  if (installs.length > 0) ctx.wake('jobs');
}

function listSilent({ sources }: Context): string[] {
  return [...sources].flatMap(([install, { hasSilentEnds }]) => (hasSilentEnds ? [install] : []));
}

const minuteMs = 60_000;
/**
 * It is checked each minute, so an install is read every four minutes. A failed reading does not count and is retried
 * within seconds. So an end without an event is found within five minutes even if one reading fails.
 */
const readAfterMs = 3 * minuteMs;
/** Four readings at the usual interval of a feed. One of them may fail. */
const heardWithinMs = 2 * minuteMs;

/**
 * The installs to read now among those whose sources do not report every end: those that were not read lately, and
 * those whose feed was not read lately, because nothing else reports their hires.
 */
export async function chooseSilent(ctx: Context): Promise<string[]> {
  const silent = listSilent(ctx);
  const resting = new Set(await listResting(ctx, silent));
  return silent.filter((install) => !resting.has(install));
}

/** The installs that were read lately, and so was their feed. */
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
