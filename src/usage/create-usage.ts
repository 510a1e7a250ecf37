import type { Context } from '../context.ts';
import type { Loop } from '../lib/loop.ts';
import { compareWork } from './compare/compare-work.ts';
import { createReadUsageWorker } from './read/read-usage-worker.ts';
import { createFinalReportWorker } from './report/final-report-worker.ts';
import { createReportWorker } from './report/report-worker.ts';
import type { OnAnswer } from './report/send-usage.ts';

/** Loops that read the work in the tools. The bridge runs them, and so does every command that removes people. */
export function createWorkReaders(ctx: Context): Loop[] {
  const readable = [...ctx.adapters].filter(([, adapter]) => adapter.readUsage !== undefined);
  return readable.map(([tool]) => createReadUsageWorker(ctx, tool));
}

/** Loops that report the work to the marketplace. */
export function createWorkReporters(ctx: Context, onAnswer: OnAnswer): Loop[] {
  return [createReportWorker(ctx, { onAnswer, compare: compareWork }), createFinalReportWorker(ctx, onAnswer)];
}
