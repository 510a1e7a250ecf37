import type { Context } from '../../context.ts';
import type { HeldRow } from '../due/held-store.ts';
import { refreshDue } from '../due/refresh-due.ts';
import { countInstall, decideBrake, listHeldOf, planInstall, type ReportWanted, reportedOf } from './plan-install.ts';
import { holdLowered, type PlannedEntry, type ReportPlan } from './plan-report.ts';

/** What would be sent for one install, and what is held back. */
export interface InstallPlan extends Omit<ReportPlan, 'risen'> {
  install: string;
  /** What a run would lower beyond the limit. */
  heldLowered: PlannedEntry[];
  held: HeldRow[];
}

/** What a run would do by the latest readings. It sends nothing. */
export async function previewReport(ctx: Context, wanted: ReportWanted): Promise<InstallPlan[]> {
  await refreshDue(ctx);
  const plans: InstallPlan[] = [];
  for (const install of reportedOf(ctx, wanted.installs)) plans.push(await previewInstall(ctx, install, wanted));
  return plans;
}

async function previewInstall(ctx: Context, install: string, wanted: ReportWanted): Promise<InstallPlan> {
  const { isOff, isOn } = await decideBrake(ctx, install, await countInstall(ctx, install, wanted), wanted);
  const held = await listHeldOf(ctx, install, wanted);
  const plan: InstallPlan = { install, entries: [], late: [], parked: [], heldLowered: [], held };
  for await (const { entries, late, parked } of planInstall(ctx, install, wanted)) {
    const split = isOff ? { entries, held: [] } : holdLowered(entries, isOn);
    // A page is small enough for the arguments of one call.
    plan.entries.push(...split.entries);
    plan.heldLowered.push(...split.held);
    plan.late.push(...late);
    plan.parked.push(...parked);
  }
  return plan;
}
