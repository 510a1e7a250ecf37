import type { Context } from '../../context.ts';
import { instantIn } from '../../lib/clock.ts';

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
