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
    // Without a public address all are read each minute, except those that tell what happens in another way.
    const isPolled = config.receiver.publicUrl === undefined && config.reconcile.schedule === usualSchedule({});
    const silent = new Set(isPolled ? listSilent(ctx) : []);
    await wantScheduled(
      ctx,
      [...installs.keys()].filter((install) => !silent.has(install)),
    );
  },
);

/** Has the installs read whose sources do not tell of every end. */
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
  const silent = listSilent(ctx);
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
