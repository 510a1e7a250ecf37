import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { createSweep } from './sweep.ts';

/** Retention is counted in days. */
const intervalMs = 3_600_000;
/** Lets others write between two chunks. */
const restMs = 20;

/** Clears what is known of trainers whose retention is over. */
export function createRetentionWorker(ctx: Context): Loop {
  const sweep = createSweep(ctx);
  return createLoop({
    name: 'retention',
    intervalMs,
    logger: ctx.logger,
    clock: ctx.clock,
    async run(signal) {
      if ((await sweep()) === 'done') return 'idle';
      await wait(restMs, undefined, { signal });
      return 'more';
    },
  });
}
