import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import type { BudgetState, NotifiedBudgetState } from '../domain/budget.ts';
import { toAppError } from '../domain/errors.ts';
import type { ContractKey } from '../domain/evidence.ts';
import type { BudgetNotice } from '../domain/notice.ts';
import { moveJob } from '../jobs/job-store.ts';
import { toInstant } from '../lib/clock.ts';
import { addBudgetNotice } from '../notify/notice-store.ts';
import type { Budget } from '../sources/source.ts';
import { budgetKey, lockBudget, saveBudget } from './budget-store.ts';

/** Stores what was read, together with the notice that is due. */
export async function keepBudget(ctx: Context, reading: BudgetReading): Promise<Taken> {
  const rules = { now: ctx.clock.now(), repeatMs: ctx.config.notifications.repeatMs };
  const taken = await inTransaction(ctx.database, async (tx) => {
    const taken = takeReading(await lockBudget(ctx, tx, reading), reading, rules);
    await saveBudget(tx, taken.row);
    if (taken.notice !== null) await addBudgetNotice(ctx, tx, taken.notice);
    return taken;
  });
  if (taken.notice !== null) logNotice(ctx, taken.notice);
  return taken;
}

/**
 * Stores the budget that came with the answer to a usage report.
 *
 * @param budget null where the answer had no readable budget
 * @param askedAt when the request began
 */
export async function keepAnswer(
  ctx: Context,
  { install, contractId }: ContractKey,
  budget: Budget | null,
  askedAt: string,
): Promise<void> {
  if (budget === null || budget.contractId !== contractId) return;
  try {
    const { nextReadAt: dueAt } = await keepBudget(ctx, { install, contractId, budget, askedAt });
    const now = toInstant(ctx.clock.now());
    await inTransaction(ctx.database, (tx) =>
      moveJob(tx, 'budget', budgetKey({ install, contractId }).key, { now, dueAt }),
    );
  } catch (error) {
    // The usage was accepted and must not be sent again; the budget is read again later.
    const fields = { err: toAppError(error), install, contractId };
    ctx.logger.warn(fields, 'The budget of an answer could not be kept');
  }
}

function logNotice({ logger }: Context, notice: BudgetNotice): void {
  const { kind, install, contractId, isRepeat, budget } = notice;
  const fields = { install, contractId, notice: kind, isRepeat, ...budget };
  if (isRepeat) logger.info(fields, 'The budget of a contract is still as it was');
  else if (kind === 'budget.depleted') logger.warn(fields, 'The budget of a contract is used up');
  else if (kind === 'budget.low') logger.warn(fields, 'The budget of a contract is running out');
  else logger.info(fields, 'The budget of a contract is well again');
}

export interface BudgetReading {
  install: string;
  contractId: string;
  budget: Budget;
  /** When the request began whose answer this is. */
  askedAt: string;
}

interface Taken {
  row: Row<'budget'>;
  notice: BudgetNotice | null;
  nextReadAt: string;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * Pure: what is known of a budget after one more answer, and which notice is due. The answer to an older request than
 * the stored one says nothing about the budget.
 */
export function takeReading(known: Row<'budget'>, reading: BudgetReading, rules: NoticeRules): Taken {
  const isOlder = known.askedAt !== null && reading.askedAt < known.askedAt;
  const answered = { ...known, notFoundAt: null };
  const read = isOlder ? answered : { ...answered, ...toFacts(known, reading) };
  const found = foundIn(read);
  const decision = found && decideNotice(lastNoticeOf(known), found, rules);
  const row = decision === null ? read : { ...read, ...toNoticeColumns(decision, read, rules.now) };
  return {
    row,
    nextReadAt: nextReadAt(row, rules.now),
    notice: found && decision && toNotice(row, decision, decision.isRepeat ? rules.now.toISOString() : found.since),
  };
}

function toFacts(known: Row<'budget'>, { budget, askedAt }: BudgetReading): Partial<Row<'budget'>> {
  const { fundedVolume, fundedAmountUsd, consumedVolume, remainingVolume } = budget;
  const { consumedFraction, consumed, paymentType, lastUsageAt } = budget;
  const state = toState(budget.state);
  return {
    fundedVolume,
    fundedAmountUsd,
    consumedVolume,
    remainingVolume,
    consumedFraction,
    state,
    askedAt,
    paymentType,
    lastUsageAt,
    stateSince: state === known.state ? known.stateSince : askedAt,
    consumedSeconds: consumed?.seconds ?? null,
    consumedLabels: consumed?.labels ?? null,
    consumedTasks: consumed?.tasks ?? null,
  };
}

const stateOf: Record<string, BudgetState> = { OK: 'ok', LOW: 'low', DEPLETED: 'depleted' };

function toState(word: string): BudgetState {
  return Object.hasOwn(stateOf, word) ? (stateOf[word] ?? 'unknown') : 'unknown';
}

function foundIn({ state, stateSince, fundedVolume }: Row<'budget'>): Found | null {
  return state === null || stateSince === null ? null : { state, since: stateSince, fundedVolume };
}

function lastNoticeOf({ notifiedState, notifiedAt, notifiedFundedVolume }: Row<'budget'>): LastNotice | null {
  if (notifiedState === null || notifiedAt === null) return null;
  return { state: notifiedState, at: notifiedAt, fundedVolume: notifiedFundedVolume };
}

function toNoticeColumns(
  { state }: NoticeDecision,
  { fundedVolume }: Row<'budget'>,
  now: Date,
): Partial<Row<'budget'>> {
  return { notifiedState: state, notifiedAt: now.toISOString(), notifiedFundedVolume: fundedVolume };
}

/** Hourly where the budget runs out, daily elsewhere, and when a notice will be due. */
function nextReadAt(row: Row<'budget'>, now: Date): string {
  const isShort = row.state === 'low' || row.state === 'depleted';
  const regular = new Date(now.getTime() + (isShort ? hourMs : dayMs)).toISOString();
  const found = foundIn(row);
  const settled = found && settlesAt(lastNoticeOf(row), found);
  return settled !== null && settled < regular ? settled : regular;
}

function toNotice(row: Row<'budget'>, { state, isRepeat }: NoticeDecision, occurredAt: string): BudgetNotice {
  const { install, contractId } = row;
  const { fundedVolume, fundedAmountUsd, consumedVolume, remainingVolume, consumedFraction } = row;
  return {
    kind: `budget.${state}`,
    install,
    contractId,
    occurredAt,
    isRepeat,
    budget: { fundedVolume, fundedAmountUsd, consumedVolume, remainingVolume, consumedFraction },
  };
}

/** What the last notice said. */
export interface LastNotice {
  state: NotifiedBudgetState;
  at: string;
  fundedVolume: number | null;
}

/** What the latest reading found. */
export interface Found {
  state: BudgetState;
  /** Since when every reading has found this state. */
  since: string;
  fundedVolume: number | null;
}

interface NoticeRules {
  now: Date;
  /** After what time an unchanged state is noticed again; null for never. */
  repeatMs: number | null;
}

interface NoticeDecision {
  state: NotifiedBudgetState;
  isRepeat: boolean;
}

/** How long a better state has to last, unless it was paid for. */
const quietMs = 3_600_000;

const severities: Record<NotifiedBudgetState, number> = { ok: 0, low: 1, depleted: 2 };

/**
 * Pure: whether a notice is due now. A worse state is noticed at once. A better state is noticed when more was
 * funded, or once it has lasted, because corrections of usage may move it to and fro. Before the first notice the
 * state counts as well funded.
 */
export function decideNotice(
  last: LastNotice | null,
  found: Found,
  { now, repeatMs }: NoticeRules,
): NoticeDecision | null {
  const { state } = found;
  if (state === 'unknown') return null;
  if (state === (last?.state ?? 'ok')) {
    if (last === null || state === 'ok' || repeatMs === null) return null;
    return hasPassed(last.at, repeatMs, now) ? { state, isRepeat: true } : null;
  }
  if (last !== null && isUnsettled(last, found) && !hasPassed(found.since, quietMs, now)) {
    return null;
  }
  return { state, isRepeat: false };
}

/** When a better state will have lasted long enough; null where nothing waits for that. */
export function settlesAt(last: LastNotice | null, found: Found): string | null {
  if (last === null || !isUnsettled(last, found)) return null;
  return new Date(Date.parse(found.since) + quietMs).toISOString();
}

function isUnsettled(last: LastNotice, { state, fundedVolume }: Found): boolean {
  if (state === 'unknown' || severities[state] >= severities[last.state]) return false;
  return !(last.fundedVolume !== null && (fundedVolume ?? 0) > last.fundedVolume);
}

function hasPassed(since: string, ms: number, now: Date): boolean {
  return now.getTime() - Date.parse(since) >= ms;
}
