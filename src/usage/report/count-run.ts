import type { Context } from '../../context.ts';
import type { DueLoader } from '../attribute/load-due.ts';
import { firstOpenDay } from '../read/look-back.ts';
import { countLedger } from './ledger-store.ts';
import { loadParts } from './load-parts.ts';
import { planPart } from './plan-part.ts';
import { isBrakeOn, type ReportPlan } from './plan-report.ts';
import { mayBeOf, type ReportWanted } from './report-wanted.ts';
import type { Troubles } from './trouble-alerts.ts';

/** What a run has to do in one install. */
export interface InstallCount {
  /** Days that are to be sent, including held ones. */
  entries: number;
  /** Days among the entries that would be lowered and are not held yet; `held` counts those that are. */
  lowered: number;
  held: number;
  /** Days that were held and would no longer be lowered. */
  risen: number;
  /** Days that the marketplace refused and that have not changed since. */
  parked: number;
  /** Observations that no contract can be found for. */
  heldWork: number;
}

export interface RunCount {
  installs: Map<string, InstallCount>;
  /** The parts in which there is something to do. */
  parts: MarkedPart[];
}

export interface MarkedPart {
  people: readonly string[];
  /** By install. */
  contractIds: Map<string, string[]>;
}

/**
 * Counts part by part before anything is sent, because lowering is judged for a whole install.
 *
 * @param troubles where to note what an operator has to look at; left out where nothing may be changed
 */
export async function countRun(
  ctx: Context,
  due: DueLoader,
  { installs: all, ...rest }: ReportWanted,
  { troubles, signal }: { troubles?: Troubles; signal?: AbortSignal } = {},
): Promise<RunCount> {
  const wanted = { ...rest, installs: reportedOf(ctx, all) };
  const installs = new Map(wanted.installs.map((install) => [install, emptyCount()]));
  const parts: RunCount['parts'] = [];
  for await (const part of loadParts(ctx, due, wanted)) {
    if (signal?.aborted) break;
    const contractIds: MarkedPart['contractIds'] = new Map();
    for (const [install, days] of Map.groupBy(part.due, (day) => day.install)) {
      const plan = await planPart(ctx, due, install, days);
      addPlan(installs.get(install), plan);
      await troubles?.noteDays(install, 'refused', plan.parked);
      const marked = [...plan.entries, ...plan.risen].map(({ contractId }) => contractId);
      if (marked.length > 0) contractIds.set(install, [...new Set(marked)]);
    }
    for (const [install, count] of installs) {
      const isOf = part.held.filter((one) => mayBeOf(one, install, wanted));
      count.heldWork += isOf.length;
      await troubles?.noteWork(install, isOf);
    }
    if (contractIds.size > 0) parts.push({ people: part.people, contractIds });
  }
  return { installs, parts };
}

/** The installs whose source takes reports. The work for the others is only shown. */
export function reportedOf({ sources }: Context, installs: readonly string[]): string[] {
  return installs.filter((install) => sources.get(install)?.reportUsage !== undefined);
}

function emptyCount(): InstallCount {
  return { entries: 0, lowered: 0, held: 0, risen: 0, parked: 0, heldWork: 0 };
}

function addPlan(count: InstallCount | undefined, { entries, risen, parked }: ReportPlan): void {
  if (count === undefined) return;
  const braked = entries.filter(({ isBraked }) => isBraked);
  const held = braked.filter(({ heldSince }) => heldSince !== null).length;
  count.entries += entries.length;
  count.lowered += braked.length - held;
  count.held += held;
  count.risen += risen.length;
  count.parked += parked.length;
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
  const { lookbackMs, maxLoweredFraction } = ctx.config.usage;
  const { known, held } = await countLedger(ctx, install, firstOpenDay({ now: ctx.clock.now(), lookbackMs }));
  const waiting = Math.max(0, held - risen);
  const allowance = Math.max(0, Math.floor(known * maxLoweredFraction) - waiting);
  const isOn = isBrakeOn({ lowered: lowered + waiting, known }, maxLoweredFraction);
  return { isOff: acceptsLowered, isOn, allowance: acceptsLowered ? lowered : allowance };
}
