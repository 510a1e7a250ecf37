import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import type { BudgetState, NotifiedBudgetState } from '../domain/budget.ts';
import { toAppError } from '../domain/errors.ts';
import type { ContractKey } from '../domain/evidence.ts';
import type { BudgetNotice } from '../domain/notice.ts';
import { moveJob } from '../jobs/job-store.ts';
import { dayMs, hourMs, instantAfter, toInstant } from '../lib/clock.ts';
import type { Budget } from '../marketplace/source.ts';
import { addBudgetNotice } from '../notify/notice-store.ts';
import { budgetKey, lockBudget, saveBudget } from './budget-store.ts';

export interface BudgetReading extends ContractKey {
  budget: Budget;
  /** When the request began. */
  askedAt: string;
}

/** Stores what was read, together with the notice that is due. @returns when to read the budget again */
export async function keepBudget(ctx: Context, reading: BudgetReading): Promise<string> {
  const rules = { now: ctx.clock.now(), repeatMs: ctx.config.notifications.repeatMs };
  const { notice, nextReadAt } = await inTransaction(ctx.database, async (tx) => {
    const change = applyReading(await lockBudget(ctx, tx, reading), reading, rules);
    await saveBudget(tx, change.row);
    if (change.notice !== null) await addBudgetNotice(ctx, tx, change.notice);
    return change;
  });
  if (notice !== null) logNotice(ctx, notice);
  return nextReadAt;
}

/**
 * Stores the budget in the answer to a usage report.
 *
 * @param budget null if the answer has no valid budget
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
    const dueAt = await keepBudget(ctx, { install, contractId, budget, askedAt });
    const { key } = budgetKey({ install, contractId });
    const now = toInstant(ctx.clock.now());
    await inTransaction(ctx.database, (tx) => moveJob(tx, 'budget', key, { now, dueAt }));
  } catch (error) {
    // The usage was accepted and must not be sent again. The budget is read again later.
    const fields = { err: toAppError(error), install, contractId };
    ctx.logger.warn(fields, 'Could not store the budget from the answer to a usage report');
  }
}

function logNotice({ logger }: Context, notice: BudgetNotice): void {
  const { kind, install, contractId, isRepeat, budget } = notice;
  const fields = { install, contractId, notice: kind, isRepeat, ...budget };
  if (isRepeat) logger.info(fields, 'The budget of a contract is still low or used up');
  else if (kind === 'budget.depleted') logger.warn(fields, 'The budget of a contract is used up');
  else if (kind === 'budget.low') logger.warn(fields, 'The budget of a contract is running out');
  else logger.info(fields, 'The budget of a contract is sufficient again');
}

interface BudgetChange {
  row: Row<'budget'>;
  notice: BudgetNotice | null;
  nextReadAt: string;
}

/**
 * Pure: the stored budget after one more answer, and the notice that is due. An answer to a request that began before
 * that of the stored budget does not change the budget.
 */
export function applyReading(known: Row<'budget'>, reading: BudgetReading, rules: NoticeRules): BudgetChange {
  const { now } = rules;
  const isOlder = known.askedAt !== null && reading.askedAt < known.askedAt;
  const read = { ...known, ...(isOlder ? {} : toColumns(known, reading)), notFoundAt: null };
  const decision = decideNotice(read, rules);
  if (decision === null) return { row: read, notice: null, nextReadAt: nextReadAt(read, now) };
  const notifiedAt = toInstant(now);
  const row = { ...read, notifiedState: decision.state, notifiedAt, notifiedFundedVolume: read.fundedVolume };
  return { row, notice: toNotice(row, decision, notifiedAt), nextReadAt: nextReadAt(row, now) };
}

const stateOf = new Map<string, BudgetState>([
  ['OK', 'ok'],
  ['LOW', 'low'],
  ['DEPLETED', 'depleted'],
]);

function toColumns(known: Row<'budget'>, { budget, askedAt }: BudgetReading): Partial<Row<'budget'>> {
  const { fundedVolume, fundedAmountUsd, consumedVolume, remainingVolume } = budget;
  const { consumedFraction, consumed, paymentType, lastUsageAt } = budget;
  const state = stateOf.get(budget.state) ?? 'unknown';
  return {
    ...{ fundedVolume, fundedAmountUsd, consumedVolume, remainingVolume, consumedFraction },
    ...{ state, askedAt, paymentType, lastUsageAt },
    stateSince: state === known.state ? known.stateSince : askedAt,
    consumedSeconds: consumed?.seconds ?? null,
    consumedLabels: consumed?.labels ?? null,
    consumedTasks: consumed?.tasks ?? null,
  };
}

/** Hourly while the budget is low or used up, otherwise daily; earlier if a notice is due earlier. */
function nextReadAt(row: Row<'budget'>, now: Date): string {
  const isShort = row.state === 'low' || row.state === 'depleted';
  const regular = instantAfter(toInstant(now), isShort ? hourMs : dayMs);
  const settled = settlesAt(row);
  return settled !== null && settled < regular ? settled : regular;
}

function toNotice(row: Row<'budget'>, { state, isRepeat }: NoticeDecision, notifiedAt: string): BudgetNotice {
  const { install, contractId, stateSince } = row;
  const { fundedVolume, fundedAmountUsd, consumedVolume, remainingVolume, consumedFraction } = row;
  return {
    kind: `budget.${state}`,
    install,
    contractId,
    occurredAt: isRepeat ? notifiedAt : (stateSince ?? notifiedAt),
    isRepeat,
    budget: { fundedVolume, fundedAmountUsd, consumedVolume, remainingVolume, consumedFraction },
  };
}

/** The state that was read last, and what the last notice said. */
export type NoticeFacts = Pick<
  Row<'budget'>,
  'state' | 'stateSince' | 'fundedVolume' | 'notifiedState' | 'notifiedAt' | 'notifiedFundedVolume'
>;

interface NoticeRules {
  now: Date;
  /** The time after which a notice about an unchanged state is repeated; null for never. */
  repeatMs: number | null;
}

interface NoticeDecision {
  state: NotifiedBudgetState;
  isRepeat: boolean;
}

/** How long a better state has to last before a notice, unless more was funded. */
const quietMs = hourMs;

const severities: Record<NotifiedBudgetState, number> = { ok: 0, low: 1, depleted: 2 };

/**
 * Pure: which notice is due now. A worse state is due at once. A better state is due when more was funded, or after it
 * has lasted, because corrections of usage move it to and fro. Without an earlier notice, the state was `ok`.
 */
export function decideNotice(budget: NoticeFacts, { now, repeatMs }: NoticeRules): NoticeDecision | null {
  const { state, notifiedState, notifiedAt } = budget;
  if (state === null || state === 'unknown') return null;
  if (state === (notifiedState ?? 'ok')) {
    if (notifiedAt === null || state === 'ok' || repeatMs === null) return null;
    return instantAfter(notifiedAt, repeatMs) <= toInstant(now) ? { state, isRepeat: true } : null;
  }
  const settled = settlesAt(budget);
  return settled === null || settled <= toInstant(now) ? { state, isRepeat: false } : null;
}

/** When a better state will have lasted long enough; null if no notice waits for that. */
export function settlesAt(budget: NoticeFacts): string | null {
  const { state, stateSince, fundedVolume, notifiedState, notifiedFundedVolume } = budget;
  if (state === null || state === 'unknown' || stateSince === null || notifiedState === null) return null;
  if (severities[state] >= severities[notifiedState]) return null;
  const hasMore = notifiedFundedVolume !== null && (fundedVolume ?? 0) > notifiedFundedVolume;
  return hasMore ? null : instantAfter(stateSince, quietMs);
}
