import type { Storage } from '../../keys/storage.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import type { Source } from '../../sources/source.ts';
import { listRestingContracts } from './silent-store.ts';

export interface ChooseSilentDeps extends Storage {
  /** By the name of the install. The Map always has what was loaded last. */
  sources: ReadonlyMap<string, Pick<Source, 'hasSilentEnds'>>;
  clock: Clock;
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
export function createChooseSilent(ctx: ChooseSilentDeps): () => Promise<string[]> {
  return async () => {
    const silent = [...ctx.sources].flatMap(([install, { hasSilentEnds }]) => (hasSilentEnds ? [install] : []));
    const before = (ms: number) => toInstant(new Date(ctx.clock.now().getTime() - ms));
    const resting = new Set(await listRestingContracts(ctx, silent, before(readAfterMs), before(heardWithinMs)));
    return silent.filter((install) => !resting.has(install));
  };
}
