import type { Context } from '../../context.ts';
import { type DayFilter, listOpenDays, type StoredDue } from '../due/due-store.ts';
import { type HeldRow, listHeld } from '../due/held-store.ts';
import { refreshDue } from '../due/refresh-due.ts';
import { firstOpenDay, reportTimeOf } from '../read/look-back.ts';
import { countLedger, type LedgerRow } from './ledger-store.ts';
import { holdLowered, isBrakeOn, type PlannedEntry, planReport, type ReportPlan } from './plan-report.ts';

export interface DaySelection extends Pick<DayFilter, 'from' | 'to'> {
  installs: readonly string[];
  contractId?: string | undefined;
}

/** What a run reports. */
export interface ReportOptions extends DaySelection {
  /** Whether an operator accepts everything that the run lowers. */
  acceptsLowered?: boolean | undefined;
}

export function toDayFilter(install: string, { contractId, from, to }: DaySelection): DayFilter {
  return { install, contractIds: contractId === undefined ? undefined : [contractId], from, to };
}

/** The installs whose marketplace accepts reports. The work for the others is only shown. */
export function reportedOf({ sources }: Context, installs: readonly string[]): string[] {
  return installs.filter((install) => sources.get(install)?.reportUsage !== undefined);
}

/** Plans what has to be sent, contract by contract. A contract may be in two plans. */
export async function* planDays(ctx: Context, filter: DayFilter): AsyncGenerator<ReportPlan> {
  const time = reportTimeOf(ctx);
  for await (const days of listOpenDays(ctx, filter, firstOpenDay(time))) {
    const ledgerOf = new Map<StoredDue, LedgerRow | undefined>(days.map(({ due, ledger }) => [due, ledger]));
    yield planReport([...ledgerOf.keys()], (day) => ledgerOf.get(day as StoredDue), time);
  }
}

export function listHeldOf(ctx: Context, install: string, { contractId, from, to }: ReportOptions): Promise<HeldRow[]> {
  return listHeld(ctx, { state: 'held', install, contractId, from, to });
}

/** What a run has to do in one install. */
export interface InstallCount {
  /** Contracts with something to do, in order. */
  contractIds: string[];
  /** Days to send, including held ones. */
  entries: number;
  /** Of these, days that would be lowered and are not held yet; `held` counts those that are held. */
  lowered: number;
  held: number;
  /** Held days that would no longer be lowered. */
  risen: number;
  /** Days that the marketplace refused and that have not changed since. */
  parked: number;
}

/** Counts before anything is sent, because the brake is decided for a whole install. */
export async function countInstall(ctx: Context, install: string, wanted: ReportOptions): Promise<InstallCount> {
  const contractIds = new Set<string>();
  const count = { entries: 0, lowered: 0, held: 0, risen: 0, parked: 0 };
  for await (const { entries, risen, parked } of planDays(ctx, toDayFilter(install, wanted))) {
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
  /** Whether an operator has accepted the lowering, so that nothing is held. */
  isOff: boolean;
  /** Whether every day that would be lowered is held. */
  isOn: boolean;
  /** How many more days the run may lower, in case there are more than were counted. */
  allowance: number;
}

/** Held days count too, also those that the run does not want. */
export async function decideBrake(
  ctx: Context,
  install: string,
  { lowered, risen }: InstallCount,
  { acceptsLowered = false }: ReportOptions,
): Promise<LoweringBrake> {
  const { maxLoweredFraction } = ctx.config.usage;
  const { known, held } = await countLedger(ctx, install, firstOpenDay(reportTimeOf(ctx)));
  const waiting = Math.max(0, held - risen);
  const allowance = Math.max(0, Math.floor(known * maxLoweredFraction) - waiting);
  const isOn = isBrakeOn({ lowered: lowered + waiting, known }, maxLoweredFraction);
  return { isOff: acceptsLowered, isOn, allowance: acceptsLowered ? lowered : allowance };
}

export interface InstallPlan extends Omit<ReportPlan, 'risen'> {
  install: string;
  /** Days that the brake would hold. */
  heldLowered: PlannedEntry[];
  held: HeldRow[];
}

/** Plans a run by the latest readings. It sends nothing. */
export async function previewReport(ctx: Context, wanted: ReportOptions): Promise<InstallPlan[]> {
  await refreshDue(ctx);
  const plans: InstallPlan[] = [];
  for (const install of reportedOf(ctx, wanted.installs)) plans.push(await previewInstall(ctx, install, wanted));
  return plans;
}

async function previewInstall(ctx: Context, install: string, wanted: ReportOptions): Promise<InstallPlan> {
  const { isOff, isOn } = await decideBrake(ctx, install, await countInstall(ctx, install, wanted), wanted);
  const held = await listHeldOf(ctx, install, wanted);
  const plan: InstallPlan = { install, entries: [], late: [], parked: [], heldLowered: [], held };
  for await (const { entries, late, parked } of planDays(ctx, toDayFilter(install, wanted))) {
    const split = isOff ? { entries, held: [] } : holdLowered(entries, isOn);
    // A page is small enough for the arguments of one call.
    plan.entries.push(...split.entries);
    plan.heldLowered.push(...split.held);
    plan.late.push(...late);
    plan.parked.push(...parked);
  }
  return plan;
}
