import type { Row } from '../db/schema.ts';
import type { BudgetState } from '../domain/budget.ts';
import type { BudgetNotice } from '../domain/notice.ts';
import type { Budget } from '../sources/source.ts';
import {
  decideNotice,
  type Found,
  type LastNotice,
  type NoticeDecision,
  type NoticeRules,
  settlesAt,
} from './decide-notice.ts';

export interface BudgetReading {
  install: string;
  contractId: string;
  budget: Budget;
  /** When the request began whose answer this is. */
  askedAt: string;
  /** When the reading fell due, where it was asked for. The answer to a report was not. */
  dueAt: string | null;
}

export interface Taken {
  row: Row<'budget'>;
  notice: BudgetNotice | null;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * Pure: what is known of a budget after one more answer, and which notice is due. The answer to an older request than
 * the stored one says nothing about the budget.
 */
export function takeReading(known: Row<'budget'>, reading: BudgetReading, rules: NoticeRules): Taken {
  const isOlder = known.askedAt !== null && reading.askedAt < known.askedAt;
  const answered = { ...known, attempts: 0, failure: null, notFoundAt: null };
  const read = isOlder ? answered : { ...answered, ...toFacts(known, reading) };
  const found = foundIn(read);
  const decision = found && decideNotice(lastNoticeOf(known), found, rules);
  const row = decision === null ? read : { ...read, ...toNoticeColumns(decision, read, rules.now) };
  const isMet = isDueFor(known, reading, rules.now);
  return {
    row: isMet ? { ...row, nextReadAt: nextReadAt(row, rules.now) } : row,
    notice: found && decision && toNotice(row, decision, decision.isRepeat ? rules.now.toISOString() : found.since),
  };
}

/** An earlier answer does not change what was asked for since, nor whether to read at all. */
function isDueFor({ nextReadAt }: Row<'budget'>, { dueAt }: BudgetReading, now: Date): boolean {
  if (nextReadAt === null) return false;
  return dueAt === null ? nextReadAt > now.toISOString() : nextReadAt === dueAt;
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
