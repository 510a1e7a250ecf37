import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import type { JournalStore } from './journal-store.ts';

interface SealDeps {
  journal: Pick<JournalStore, 'seal'>;
  logger: Logger;
  clock: Clock;
}

/** Until a row is sealed, a change of it would not be noticed. */
const intervalMs = 10_000;
/** After an upgrade there may be a million rows, and storing never waits long for sealing. */
const restMs = 20;

/** Gives the rows of the evidence journal their position in the chain. */
export function createSealWorker({ journal, logger, clock }: SealDeps): Loop {
  return createLoop({
    name: 'journal',
    intervalMs,
    logger,
    clock,
    async run(signal) {
      if ((await journal.seal()) === 0) return 'idle';
      await wait(restMs, undefined, { signal });
      return 'more';
    },
  });
}
