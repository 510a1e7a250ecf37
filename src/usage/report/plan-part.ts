import type { Context } from '../../context.ts';
import type { DueDay } from '../attribute/attribute-work.ts';
import type { DueLoader } from '../attribute/load-due.ts';
import { listLedger } from './ledger-store.ts';
import { planReport, type ReportPlan } from './plan-report.ts';

/** Plans what is due on some contracts of one install and is not known to be at the marketplace. */
export async function planPart(
  ctx: Context,
  { firstDay }: DueLoader,
  install: string,
  days: readonly DueDay[],
): Promise<ReportPlan> {
  const contractIds = [...new Set(days.map(({ contractId }) => contractId))];
  const rows = await listLedger(ctx, { install, contractIds, firstDay });
  const byDay = new Map(rows.map((row) => [dayKey(row), row]));
  const time = { now: ctx.clock.now(), lookbackMs: ctx.config.usage.lookbackMs };
  return planReport(days, (day) => byDay.get(dayKey(day)), time);
}

function dayKey({ contractId, trainerId, day }: Pick<DueDay, 'contractId' | 'trainerId' | 'day'>) {
  return JSON.stringify([contractId, trainerId, day]);
}
