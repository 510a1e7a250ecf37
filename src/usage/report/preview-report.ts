import type { Context } from '../../context.ts';
import type { HeldWork } from '../attribute/attribute-work.ts';
import { openDue } from '../attribute/load-due.ts';
import { countRun, decideBrake } from './count-run.ts';
import { loadParts } from './load-parts.ts';
import { planPart } from './plan-part.ts';
import { holdLowered, type PlannedEntry, type ReportPlan } from './plan-report.ts';
import { mayBeOf, type ReportWanted } from './report-wanted.ts';

/** What would be sent for one install, and what is held back. */
export interface InstallPlan extends Omit<ReportPlan, 'risen'> {
  install: string;
  /** What a run would lower beyond the limit. */
  heldLowered: PlannedEntry[];
  held: HeldWork[];
}

/** What a run would do by the latest readings. Changes nothing. */
export async function previewReport(ctx: Context, wanted: ReportWanted): Promise<InstallPlan[]> {
  const due = await openDue(ctx);
  const { installs } = await countRun(ctx, due, wanted);
  const plans = new Map<string, { plan: InstallPlan; isOff: boolean; isOn: boolean }>();
  for (const [install, count] of installs) {
    const { isOff, isOn } = await decideBrake(ctx, install, count, wanted);
    const plan = { install, entries: [], late: [], parked: [], heldLowered: [], held: [] };
    plans.set(install, { plan, isOff, isOn });
  }
  for await (const part of loadParts(ctx, due, wanted)) {
    for (const { plan, isOff, isOn } of plans.values()) {
      const days = part.due.filter(({ install }) => install === plan.install);
      const { entries, late, parked } = await planPart(ctx, due, plan.install, days);
      const split = isOff ? { entries, held: [] } : holdLowered(entries, isOn);
      addTo(plan.entries, split.entries);
      addTo(plan.heldLowered, split.held);
      addTo(plan.late, late);
      addTo(plan.parked, parked);
      addTo(
        plan.held,
        part.held.filter((one) => mayBeOf(one, plan.install, wanted)),
      );
    }
  }
  return [...plans.values()].map(({ plan }) => plan);
}

/** One by one: there may be too many for the arguments of one call. */
function addTo<T>(all: T[], some: readonly T[]): void {
  for (const one of some) all.push(one);
}
