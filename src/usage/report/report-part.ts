import { randomUUID } from 'node:crypto';
import type { Context } from '../../context.ts';
import { holdLocks, releaseLocks } from '../../db/lock-store.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import type { DueDay } from '../attribute/attribute-work.ts';
import type { DueLoader } from '../attribute/load-due.ts';
import type { LoweringBrake, MarkedPart } from './count-run.ts';
import { holdLowerings } from './ledger-store.ts';
import { loadPart } from './load-parts.ts';
import { planPart } from './plan-part.ts';
import { holdLowered, type PlannedEntry, type ReportPlan } from './plan-report.ts';
import type { ReportWanted } from './report-wanted.ts';
import { nothingSent, type OnAnswer, type SentEntries, sendUsage } from './send-usage.ts';
import type { Troubles } from './trouble-alerts.ts';

export interface PartRun {
  ctx: Context;
  onAnswer: OnAnswer;
  due: DueLoader;
  wanted: ReportWanted;
  troubles: Troubles;
  signal: AbortSignal;
}

/** One install while it is reported. */
export interface InstallRun {
  install: string;
  brake: LoweringBrake;
  /** @returns whether to go on with the install */
  onSent(sent: SentEntries): boolean;
}

/**
 * Sends what is due on the marked contracts of a part. The part is loaded and planned again once no other sender can
 * be at it.
 *
 * @returns how many days are left, including those of other senders
 */
export async function reportPart(
  run: PartRun,
  { install, brake, onSent }: InstallRun,
  { people, contractIds }: MarkedPart,
): Promise<number> {
  const { ctx, due, wanted, signal } = run;
  const marked = contractIds.get(install) ?? [];
  const lease = await takeLease(ctx, install, marked);
  try {
    const part = await loadPart(ctx, due, wanted, people);
    const isMarked = (day: DueDay) => day.install === install && marked.includes(day.contractId);
    const plan = await planPart(ctx, due, install, part.due.filter(isMarked));
    const [ours, theirs] = splitBy(plan, ({ contractId }) => lease.contractIds.has(contractId));
    const entries = await applyBrake(run, install, ours, brake);
    let left = entries.length + theirs.entries.length;
    for (const [contractId, some] of Map.groupBy(entries, (entry) => entry.contractId)) {
      if (signal.aborted) return left;
      const sent = await send(run, { install, contractId }, some, lease);
      left -= sent.answered.length + sent.refused.length;
      if (!onSent(sent)) return left;
    }
    return left;
  } finally {
    await lease.release();
  }
}

async function send(
  { ctx, onAnswer, troubles, signal }: PartRun,
  of: ContractKey,
  entries: readonly PlannedEntry[],
  lease: SenderLease,
): Promise<SentEntries> {
  const reportUsage = ctx.sources.get(of.install)?.reportUsage;
  if (reportUsage === undefined) return { ...nothingSent(), left: [...entries] };
  const sent = await sendUsage(ctx, { reportUsage, onAnswer, hold: () => lease.keep() }, of, entries, signal);
  await troubles.noteDays(of.install, 'refused', sent.refused);
  return sent;
}

function splitBy(plan: ReportPlan, isOurs: (day: DueDay) => boolean): [ReportPlan, ReportPlan] {
  const only = (isIn: (day: DueDay) => boolean): ReportPlan => ({
    entries: plan.entries.filter(isIn),
    late: plan.late.filter(isIn),
    parked: plan.parked.filter(isIn),
    risen: plan.risen.filter(isIn),
  });
  return [only(isOurs), only((day) => !isOurs(day))];
}

/** Keeps held days held, whatever the outcome of this run. @returns what may be sent */
async function applyBrake(
  { ctx, troubles }: PartRun,
  install: string,
  plan: ReportPlan,
  brake: LoweringBrake,
): Promise<PlannedEntry[]> {
  const { clock } = ctx;
  const { entries, held } = brake.isOff ? { entries: plan.entries, held: [] } : holdLowered(plan.entries, brake.isOn);
  await troubles.noteDays(install, 'lowering', held);
  const isNew = held.filter(({ heldSince }) => heldSince === null);
  await holdLowerings(ctx, install, isNew, toInstant(clock.now()));
  await holdLowerings(ctx, install, plan.risen, null);
  // What would be lowered only since the count is counted by the next run.
  return entries.filter((entry) => {
    if (!entry.isBraked || entry.heldSince !== null) return true;
    brake.allowance -= 1;
    return brake.allowance >= 0;
  });
}

/** Keeps other senders from some contracts of an install. */
interface SenderLease {
  /** The contracts that no other sender has. */
  contractIds: ReadonlySet<string>;
  /** To be called before each request. @returns false where the lease has run out and others may have sent */
  keep(): Promise<boolean>;
  release(): Promise<void>;
}

const leaseMs = 120_000;
/** Long enough for one request and all its waits. */
const neededMs = 90_000;

export async function takeLease(ctx: Context, install: string, contractIds: readonly string[]): Promise<SenderLease> {
  const token = randomUUID();
  const byName = new Map(
    contractIds.map((contractId) => [`usage:${JSON.stringify([install, contractId])}`, contractId]),
  );
  let leasedUntil = instantIn(ctx.clock, leaseMs);
  const held = await holdLocks(ctx.database, [...byName.keys()], token, toInstant(ctx.clock.now()), leasedUntil);
  return {
    contractIds: new Set([...held].flatMap((name) => byName.get(name) ?? [])),

    async keep() {
      const now = toInstant(ctx.clock.now());
      if (now >= leasedUntil) return false;
      if (instantIn(ctx.clock, neededMs) < leasedUntil) return true;
      const until = instantIn(ctx.clock, leaseMs);
      const kept = await holdLocks(ctx.database, [...held], token, now, until);
      leasedUntil = until;
      return kept.size === held.size;
    },

    release: () => releaseLocks(ctx.database, [...held], token),
  };
}
