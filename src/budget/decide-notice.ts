import type { BudgetState, NotifiedBudgetState } from '../domain/budget.ts';

/** What somebody was told of last. */
export interface Told {
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
  /** When to say once more what is still so; null is never. */
  repeatMs: number | null;
}

export interface Decision {
  state: NotifiedBudgetState;
  isRepeat: boolean;
}

/** For so long a better state has to last, unless it was paid for. */
const quietMs = 3_600_000;

const severities: Record<NotifiedBudgetState, number> = { ok: 0, low: 1, depleted: 2 };

/**
 * Pure: what somebody is to be told of now. What is worse than they know is told at once. What is
 * better is told when more was funded, or else once it has lasted: corrections of usage may take it
 * to and fro. Where nobody was told anything, all counted as well.
 */
export function decideNotice(told: Told | null, found: Found, { now, repeatMs }: NoticeRules): Decision | null {
  const { state } = found;
  if (state === 'unknown') return null;
  if (state === (told?.state ?? 'ok')) {
    if (told === null || state === 'ok' || repeatMs === null) return null;
    return hasPassed(told.at, repeatMs, now) ? { state, isRepeat: true } : null;
  }
  if (told !== null && isUnsettled(told, found) && !hasPassed(found.since, quietMs, now)) {
    return null;
  }
  return { state, isRepeat: false };
}

/** When what is better will have lasted for long enough; null where nothing waits for that. */
export function settlesAt(told: Told | null, found: Found): string | null {
  if (told === null || !isUnsettled(told, found)) return null;
  return new Date(Date.parse(found.since) + quietMs).toISOString();
}

function isUnsettled(told: Told, { state, fundedVolume }: Found): boolean {
  if (state === 'unknown' || severities[state] >= severities[told.state]) return false;
  return !(told.fundedVolume !== null && (fundedVolume ?? 0) > told.fundedVolume);
}

function hasPassed(since: string, ms: number, now: Date): boolean {
  return now.getTime() - Date.parse(since) >= ms;
}
