import type { DueDay } from '../attribute/attribute-work.ts';
import type { DueLoader } from '../attribute/load-due.ts';
import { listLedger } from './ledger-store.ts';
import { planReport, type ReportPlan } from './plan-report.ts';
import type { ReportDeps } from './report-deps.ts';

/** Plans what is due on some contracts of one install and is not known to be at the marketplace. */
export async function planPart(
  deps: ReportDeps,
  { firstDay }: DueLoader,
  install: string,
  days: readonly DueDay[],
): Promise<ReportPlan> {
  const contractIds = [...new Set(days.map(({ contractId }) => contractId))];
  const rows = await listLedger(deps, { install, contractIds, firstDay });
  const byDay = new Map(rows.map((row) => [dayKey(row), row]));
  const time = { now: deps.clock.now(), lookbackMs: deps.lookbackMs };
  return planReport(days, (day) => byDay.get(dayKey(day)), time);
}

function dayKey({ contractId, trainerId, day }: Pick<DueDay, 'contractId' | 'trainerId' | 'day'>) {
  return JSON.stringify([contractId, trainerId, day]);
}
