import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LockStore } from '../../db/lock-store.ts';
import { outcomeOfRun, type RunOutcome } from '../../domain/run.ts';
import type { Day } from '../../domain/usage.ts';
import type { Alerts } from '../../lib/alerts.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { maskText } from '../../lib/mask.ts';
import type { Metrics } from '../../lib/metrics.ts';
import type { PlatformApi } from '../../marketplace/platform-api.ts';
import type { DueDay, HeldWork } from '../attribute/attribute-work.ts';
import { type DueDeps, type DueLoader, openDue } from '../attribute/load-due.ts';
import { firstOpenDay } from '../read/look-back.ts';
import type { LedgerRow, LedgerStore } from './ledger-store.ts';
import { holdLowered, type PlannedEntry, planReport, type ReportPlan } from './plan-report.ts';
import { concernsInstall, type Sent, sendUsage } from './send-usage.ts';

export interface ReportDeps extends DueDeps {
  ledger: LedgerStore;
  locks: LockStore;
  /** By install. */
  platformApis: ReadonlyMap<string, Pick<PlatformApi, 'reportUsage'>>;
  maxLoweredFraction: number;
  alerts: Alerts;
  metrics: Metrics;
  logger: Logger;
}

export interface ReportWanted {
  installs: readonly string[];
  contractId?: string | undefined;
  /** Inclusive. */
  from?: Day | undefined;
  to?: Day | undefined;
  /** Whether an operator has looked at what a run would lower, however much it is. */
  acceptsLowered?: boolean | undefined;
}

/** What would be sent for one install, and what keeps the rest. */
export interface InstallPlan extends ReportPlan {
  install: string;
  /** What a run would lower beyond what may be lowered by itself. */
  heldLowered: PlannedEntry[];
  held: HeldWork[];
}

/** What reporting one install came to. */
export interface InstallReport {
  install: string;
  outcome: RunOutcome;
  /** Entries that were answered; of them those that lowered a total. */
  sent: number;
  lowered: number;
  held: number;
  refused: number;
  left: number;
  requests: number;
  failure: string | null;
}

const leaseMs = 90_000;

/** What is due and not known to be at the marketplace. Changes nothing. */
export async function planInstalls(
  deps: ReportDeps,
  due: DueLoader,
  wanted: ReportWanted,
): Promise<InstallPlan[]> {
  const attributed = await due.load();
  const dueBy = Map.groupBy(attributed.due, ({ install }) => install);
  const plans: InstallPlan[] = [];
  for (const install of wanted.installs) {
    const rows = await deps.ledger.list({ install, firstDay: due.firstDay });
    const all = (dueBy.get(install) ?? []).filter((day) => isWithin(day, wanted));
    const plan = await planInParts(deps, all, rows);
    const known = rows.filter(({ day }) => day >= firstOpenDay(timeOf(deps))).length;
    const { entries, held } = wanted.acceptsLowered
      ? { entries: plan.entries, held: [] }
      : holdLowered(plan.entries, known, deps.maxLoweredFraction);
    plans.push({
      ...{ install, ...plan, entries, heldLowered: held },
      held: attributed.held.filter((one) => concerns(one, install, wanted)),
    });
  }
  return plans;
}

/**
 * Sends what is due, contract by contract: one sender at a time for each, whoever else is at it. The
 * next run makes up for what could not be sent.
 */
export async function reportUsage(
  deps: ReportDeps,
  wanted: ReportWanted,
  signal: AbortSignal,
): Promise<InstallReport[]> {
  const due = await openDue(deps);
  const plans = await planInstalls(deps, due, wanted);
  const reports: InstallReport[] = [];
  for (const plan of plans) reports.push(await reportInstall(deps, due, plan, signal));
  return reports;
}

async function reportInstall(
  deps: ReportDeps,
  due: DueLoader,
  plan: InstallPlan,
  signal: AbortSignal,
): Promise<InstallReport> {
  const { install, held, heldLowered, parked } = plan;
  const report: InstallReport = {
    ...{ install, outcome: 'clean', sent: 0, lowered: 0, requests: 0, failure: null },
    ...{ held: held.length + heldLowered.length, refused: parked.length, left: 0 },
  };
  const byContract = Map.groupBy(plan.entries, ({ contractId }) => contractId);
  for (const [contractId, entries] of byContract) {
    if (signal.aborted || report.failure !== null) {
      report.left += entries.length;
      continue;
    }
    const sent = await reportContract(deps, due, { install, contractId, entries }, signal);
    report.requests += sent.requests;
    report.sent += sent.answered.length;
    report.lowered += sent.answered.filter(({ lowers }) => lowers).length;
    report.refused += sent.refused.length;
    report.left += sent.left.length;
    if (sent.failure !== null && concernsInstall(sent.failure))
      report.failure = maskText(sent.failure.message);
  }
  tell(deps, plan, report);
  return { ...report, outcome: outcomeOf(report) };
}

interface ContractPart {
  install: string;
  contractId: string;
  /** What was planned: it is planned again once nobody else can be sending it. */
  entries: readonly PlannedEntry[];
}

async function reportContract(
  deps: ReportDeps,
  due: DueLoader,
  { install, contractId, entries }: ContractPart,
  signal: AbortSignal,
): Promise<Sent> {
  const { locks, clock, ledger, platformApis } = deps;
  const token = randomUUID();
  const name = `usage:${JSON.stringify([install, contractId])}`;
  const none: Sent = { answered: [], refused: [], left: [], requests: 0, failure: null };
  const api = platformApis.get(install);
  const hold = () => locks.hold(name, token, toInstant(clock.now()), instantIn(clock, leaseMs));
  // Whoever has it is sending the same.
  if (api === undefined || !(await hold())) return { ...none, left: [...entries] };
  try {
    const trainerIds = [...new Set(entries.map(({ trainerId }) => trainerId))];
    const planned = new Set(entries.map(dayKey));
    const fresh = (await due.load(trainerIds)).due.filter(
      (one) => one.install === install && one.contractId === contractId && planned.has(dayKey(one)),
    );
    const rows = await ledger.list({ install, contractId, firstDay: due.firstDay });
    const plan = planOf(deps, fresh, rows);
    const mayLower = new Set(entries.filter(({ lowers }) => lowers).map(dayKey));
    // What would be lowered only since it was counted is counted with the next run.
    const sendable = plan.entries.filter((one) => !one.lowers || mayLower.has(dayKey(one)));
    return await sendUsage({ ledger, clock, hold }, api, contractId, sendable, signal);
  } finally {
    await locks.release(name, token);
  }
}

const daysAtOnce = 2000;

/** The thread has more to do than this. */
async function planInParts(
  deps: ReportDeps,
  due: readonly DueDay[],
  rows: readonly LedgerRow[],
): Promise<ReportPlan> {
  const byDay = new Map(rows.map((row) => [dayKey(row), row]));
  const plan: ReportPlan = { entries: [], late: [], parked: [] };
  for (let from = 0; from < due.length; from += daysAtOnce) {
    const part = due.slice(from, from + daysAtOnce);
    const { entries, late, parked } = planReport(
      part,
      (day) => byDay.get(dayKey(day)),
      timeOf(deps),
    );
    plan.entries.push(...entries);
    plan.late.push(...late);
    plan.parked.push(...parked);
    await nextTurn();
  }
  return plan;
}

function planOf(deps: ReportDeps, due: readonly DueDay[], rows: readonly LedgerRow[]): ReportPlan {
  const byDay = new Map(rows.map((row) => [dayKey(row), row]));
  return planReport(due, (day) => byDay.get(dayKey(day)), timeOf(deps));
}

function timeOf({ clock, lookbackMs }: ReportDeps) {
  return { now: clock.now(), lookbackMs };
}

function dayKey({ contractId, trainerId, day }: DueDay | LedgerRow): string {
  return JSON.stringify([contractId, trainerId, day]);
}

function isWithin(
  { contractId, day }: Pick<DueDay, 'contractId' | 'day'>,
  wanted: ReportWanted,
): boolean {
  const { from = '', to = '9999-12-31' } = wanted;
  const isOf = wanted.contractId === undefined || wanted.contractId === contractId;
  return isOf && day >= from && day <= to;
}

function concerns(
  { sighting, contracts }: HeldWork,
  install: string,
  wanted: ReportWanted,
): boolean {
  const { day } = sighting;
  return contracts.some(
    ({ contractId, install: of }) => of === install && isWithin({ contractId, day }, wanted),
  );
}

function outcomeOf({ sent, held, refused, left, failure }: InstallReport): RunOutcome {
  const numbers = { added: sent, removed: 0, held, failed: refused };
  return failure === null ? outcomeOfRun(numbers, left) : 'failed';
}

/** What needs somebody: said with every run until it is decided. */
function tell(
  { alerts, metrics, logger }: ReportDeps,
  { install, heldLowered, held }: InstallPlan,
  report: InstallReport,
): void {
  const { sent, refused, left, requests, failure } = report;
  metrics.usageDays.inc({ install, outcome: 'answered' }, sent);
  metrics.usageDays.inc({ install, outcome: 'refused' }, refused);
  metrics.usageHeld.set({ install }, report.held);
  logger.info({ install, sent, refused, left, requests, failure }, 'Usage was reported');
  if (heldLowered.length > 0) {
    alerts.raise(
      'usage_held',
      { install, days: heldLowered.length },
      'A run would lower more of what was reported than it may: look at "gangway usage report --dry-run", then send it with --accept-lowered',
    );
  }
  if (held.length > 0) {
    alerts.raise(
      'usage_held',
      { install, days: held.length },
      'Work is not reported, as it cannot be told which contract it is of: see "gangway usage held"',
    );
  }
  if (refused > 0) {
    alerts.raise(
      'usage_refused',
      { install, days: refused },
      'The marketplace refuses days of usage: see "gangway usage show <contract>"',
    );
  }
}
