import type { BudgetState, NotifiedBudgetState } from '../domain/budget.ts';

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

export interface NoticeRules {
  now: Date;
  /** After what time an unchanged state is noticed again; null for never. */
  repeatMs: number | null;
}

export interface NoticeDecision {
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
