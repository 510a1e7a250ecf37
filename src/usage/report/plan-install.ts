import type { Context } from '../../context.ts';
import type { Day } from '../../domain/usage.ts';
import { listOpenDays, type StoredDue } from '../due/due-store.ts';
import { type HeldRow, listHeld } from '../due/held-store.ts';
import { refreshDue } from '../due/refresh-due.ts';
import { firstOpenDay, reportTimeOf } from '../read/look-back.ts';
import { countLedger, type LedgerRow } from './ledger-store.ts';
import { holdLowered, isBrakeOn, type PlannedEntry, planReport, type ReportPlan } from './plan-report.ts';

/** What a run is to report. */
export interface ReportWanted {
  installs: readonly string[];
  contractId?: string | undefined;
  /** Inclusive. */
  from?: Day | undefined;
  to?: Day | undefined;
  /** Whether an operator accepts all that the run would lower. */
  acceptsLowered?: boolean | undefined;
}

/** The installs whose source takes reports. The work for the others is only shown. */
export function reportedOf({ sources }: Context, installs: readonly string[]): string[] {
  return installs.filter((install) => sources.get(install)?.reportUsage !== undefined);
}

/**
 * What is due for an install and is not known to be at the marketplace, contract by contract.
 *
 * @param contractIds only these; a contract may be in two plans
 */
export async function* planInstall(
  ctx: Context,
  install: string,
  { contractId, from, to }: ReportWanted,
  contractIds: readonly string[] | undefined = contractId === undefined ? undefined : [contractId],
): AsyncGenerator<ReportPlan> {
  const time = reportTimeOf(ctx);
  for await (const days of listOpenDays(ctx, { install, contractIds, from, to }, firstOpenDay(time))) {
    const ledgerOf = new Map<StoredDue, LedgerRow | undefined>(days.map(({ due, ledger }) => [due, ledger]));
    yield planReport([...ledgerOf.keys()], (day) => ledgerOf.get(day as StoredDue), time);
  }
}

/** Held work that may be of an install, as far as it is wanted. */
export function listHeldOf(ctx: Context, install: string, { contractId, from, to }: ReportWanted): Promise<HeldRow[]> {
  return listHeld(ctx, { state: 'held', install, contractId, from, to });
}

/** What a run has to do in one install. */
export interface InstallCount {
  /** The contracts with something to do, in their order. */
  contractIds: string[];
  /** Days that are to be sent, including held ones. */
  entries: number;
  /** Days among the entries that would be lowered and are not held yet; `held` counts those that are. */
  lowered: number;
  held: number;
  /** Days that were held and would no longer be lowered. */
  risen: number;
  /** Days that the marketplace refused and that have not changed since. */
  parked: number;
}

/** Counts before anything is sent, because lowering is judged for a whole install. */
export async function countInstall(ctx: Context, install: string, wanted: ReportWanted): Promise<InstallCount> {
  const contractIds = new Set<string>();
  const count = { entries: 0, lowered: 0, held: 0, risen: 0, parked: 0 };
  for await (const { entries, risen, parked } of planInstall(ctx, install, wanted)) {
    const braked = entries.filter(({ isBraked }) => isBraked);
    const held = braked.filter(({ heldSince }) => heldSince !== null).length;
    count.entries += entries.length;
    count.lowered += braked.length - held;
    count.held += held;
    count.risen += risen.length;
    count.parked += parked.length;
    for (const { contractId } of [...entries, ...risen]) contractIds.add(contractId);
  }
  return { ...count, contractIds: [...contractIds] };
}

/** What a run may lower in one install. */
export interface LoweringBrake {
  /** Whether an operator has accepted the lowering: then nothing is held. */
  isOff: boolean;
  /** Whether everything is held that the run would lower. */
  isOn: boolean;
  /** How many more days the run may lower, in case there are more of them than were counted. */
  allowance: number;
}

/** Days that are already held count too, wherever in the install they are. */
export async function decideBrake(
  ctx: Context,
  install: string,
  { lowered, risen }: InstallCount,
  { acceptsLowered = false }: ReportWanted,
): Promise<LoweringBrake> {
  const { maxLoweredFraction } = ctx.config.usage;
  const { known, held } = await countLedger(ctx, install, firstOpenDay(reportTimeOf(ctx)));
  const waiting = Math.max(0, held - risen);
  const allowance = Math.max(0, Math.floor(known * maxLoweredFraction) - waiting);
  const isOn = isBrakeOn({ lowered: lowered + waiting, known }, maxLoweredFraction);
  return { isOff: acceptsLowered, isOn, allowance: acceptsLowered ? lowered : allowance };
}

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
