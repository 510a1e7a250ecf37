import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { instantIn } from '../lib/clock.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { purgeAnswers } from './kept-answer-store.ts';

/** So long the same request under the same key gets the same answer. */
export const answerKeptMs = 24 * 3_600_000;

const intervalMs = 10 * 60_000;
/** Small chunks with pauses, so that no other writer waits long. */
const chunkSize = 100;
const restMs = 20;

/** Deletes what acts were answered with a day ago. */
export function createAnswerPurgeWorker(ctx: Context): Loop {
  return createLoop({
    name: 'purge-answers',
    intervalMs,
    logger: ctx.logger,
    clock: ctx.clock,
    async run(signal) {
      if ((await purgeAnswers(ctx, instantIn(ctx.clock, -answerKeptMs), chunkSize)) === 0) return 'idle';
      await wait(restMs, undefined, { signal });
      return 'more';
    },
  });
}
