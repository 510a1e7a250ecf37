import { randomUUID } from 'node:crypto';
import type { Context } from '../../context.ts';
import { holdLocks, releaseLocks } from '../../db/lock.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { refreshDue } from '../due/refresh-due.ts';
import { holdLowerings } from './ledger-store.ts';
import { type LoweringBrake, planInstall } from './plan-install.ts';
import { holdLowered, type PlannedEntry, type ReportPlan } from './plan-report.ts';
import { type ReportRun, type SentEntries, sendUsage } from './send-usage.ts';

/** One install while it is reported. */
export interface InstallRun {
  install: string;
  brake: LoweringBrake;
  /** @returns whether to go on with the install */
  onSent(sent: SentEntries): boolean;
}

/**
 * Sends what is due on some contracts of an install. It is planned again once no other sender can be at it.
 *
 * @returns how many days are left, including those of other senders
 */
export async function reportContracts(
  run: ReportRun,
  { install, brake, onSent }: InstallRun,
  contractIds: readonly string[],
): Promise<number> {
  const { ctx, wanted, signal } = run;
  const lease = await takeLease(ctx, install, contractIds);
  try {
    await refreshDue(ctx, signal);
    let left = 0;
    const entries: PlannedEntry[] = [];
    for await (const plan of planInstall(ctx, install, wanted, contractIds)) {
      const isOurs = ({ contractId }: { contractId: string }) => lease.contractIds.has(contractId);
      left += plan.entries.filter((entry) => !isOurs(entry)).length;
      const ours = { ...plan, entries: plan.entries.filter(isOurs), risen: plan.risen.filter(isOurs) };
      entries.push(...(await applyBrake(ctx, ours, brake)));
    }
    left += entries.length;
    for (const [contractId, some] of Map.groupBy(entries, (entry) => entry.contractId)) {
      if (signal.aborted) return left;
      const sent = await sendUsage(run, { install, contractId }, some, lease.keep);
      left -= sent.answered.length + sent.refused.length;
      if (!onSent(sent)) return left;
    }
    return left;
  } finally {
    await lease.release();
  }
}

/** Keeps held days held, whatever the outcome of this run. @returns what may be sent */
async function applyBrake(
  ctx: Context,
  plan: Pick<ReportPlan, 'entries' | 'risen'>,
  brake: LoweringBrake,
): Promise<PlannedEntry[]> {
  const { entries, held } = brake.isOff ? { entries: plan.entries, held: [] } : holdLowered(plan.entries, brake.isOn);
  const isNew = held.filter(({ heldSince }) => heldSince === null);
  await holdLowerings(ctx, isNew, toInstant(ctx.clock.now()));
  await holdLowerings(ctx, plan.risen, null);
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
