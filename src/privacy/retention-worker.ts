import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import type { Sweep } from './sweep.ts';

interface RetentionDeps {
  sweep: Sweep;
  logger: Logger;
  clock: Clock;
}

/** Retention is counted in days. */
const intervalMs = 3_600_000;
/** Lets others write between two chunks. */
const restMs = 20;

/** Clears what is known of trainers whose retention is over. */
export function createRetentionWorker({ sweep, logger, clock }: RetentionDeps): Loop {
  return createLoop({
    name: 'retention',
    intervalMs,
    logger,
    clock,
    async run(signal) {
      if ((await sweep.step()) === 'done') return 'idle';
      await wait(restMs, undefined, { signal });
      return 'more';
    },
  });
}
