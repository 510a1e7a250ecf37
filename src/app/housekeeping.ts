import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { shrinkFile } from '../db/sqlite-file.ts';
import { dropExpiredLinks } from '../hires/hire-store.ts';
import { answerKeptMs, purgeAnswers } from '../http/api/kept-answer-store.ts';
import { deleteOld } from '../inbox/storage-store.ts';
import { type JobKind, type JobName, soleJob } from '../jobs/job.ts';
import { hourMs, instantIn, minuteMs, toInstant } from '../lib/clock.ts';
import { purgeCounts } from '../notify/mail-store.ts';
import { purgeNotices } from '../notify/notify-worker.ts';
import { createSweep } from '../privacy/sweep.ts';
import { clearImports } from '../usage/import/import-file.ts';
import type { Progress } from '../usage/import/preview-import.ts';

/** Small chunks with pauses, so that no other writer waits long. */
const chunkSize = 100;
const restMs = 20;
/** 8 MiB are kept for the next deliveries. */
const keptPages = 2048;

/** The jobs that delete expired data and give its space back. */
export const housekeeping: readonly JobKind[] = [
  inSteps('purge deliveries', 10 * minuteMs, (ctx) => async () => {
    return (await deleteOld(ctx.database, instantIn(ctx.clock, -ctx.config.retention.deliveriesMs), chunkSize)) > 0;
  }),
  inSteps('purge answers', 10 * minuteMs, (ctx) => async () => {
    return (await purgeAnswers(ctx, instantIn(ctx.clock, -answerKeptMs), chunkSize)) > 0;
  }),
  inSteps('purge notices', 10 * minuteMs, (ctx) => () => purgeNotices(ctx, chunkSize)),
  inSteps('purge imports', 10 * minuteMs, (ctx, progress) => async () => {
    await clearImports(ctx, progress);
    return false;
  }),
  inSteps('purge links', 10 * minuteMs, (ctx) => async () => {
    await dropExpiredLinks(ctx, toInstant(ctx.clock.now()));
    return false;
  }),
  inSteps('purge mail counts', hourMs, (ctx) => async () => {
    await purgeCounts(ctx, toInstant(ctx.clock.now()));
    return false;
  }),
  inSteps('retention', hourMs, createSweep),
  inSteps(
    'vacuum',
    10 * minuteMs,
    ({ database }) =>
      () =>
        shrinkFile(database, keptPages),
  ),
];

/** @param begin returns the step, which says whether more is left */
function inSteps(
  name: JobName,
  everyMs: number,
  begin: (ctx: Context, progress: Progress) => () => Promise<boolean>,
): JobKind {
  return soleJob(name, async (ctx, _job, signal, { beat }) => {
    const step = begin(ctx, { signal, onProgress: beat });
    while (await step()) {
      beat();
      await wait(restMs, undefined, { signal });
    }
    signal.throwIfAborted();
    return everyMs;
  });
}
