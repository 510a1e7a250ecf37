import { type Counts, countNames, isNothing, toCounts } from '../../domain/usage.ts';
import { dayIn } from '../../lib/days.ts';
import { isDoubted, type LedgerDay } from '../report/ledger-day.ts';
import { isLoweringHeld } from '../report/plan-report.ts';
import type { WhyDifferent } from './describe-due.ts';
import type { StoredDue } from './due-store.ts';
import type { HeldState } from './held-store.ts';

export type ExplainedDue = Pick<StoredDue, 'day' | 'counts' | 'timeZone' | 'isPartial' | 'isOpen'>;

/**
 * Pure. Null where the marketplace has what is due.
 *
 * @param decided work of the same day that is due to no contract: held, or discarded
 */
export function explainDay(
  due: ExplainedDue | undefined,
  sent: LedgerDay | undefined,
  now: Date,
  decided?: HeldState,
): WhyDifferent | null {
  if (sent === undefined) return due === undefined ? null : explainUnsent(due, now);
  const why = due === undefined ? explainUnseen(sent, decided) : explainDifference(due, sent);
  // What the marketplace refuses is refused, whatever else may have arrived.
  const isInDoubt = sent.state === 'in_doubt' || (isDoubted(sent) && (sent.state === 'answered' || why === null));
  return isInDoubt ? 'in_doubt' : why;
}

function explainUnseen({ answered }: LedgerDay, decided: HeldState | undefined): WhyDifferent | null {
  if (isNothing(answered)) return null;
  return decided === 'held' || decided === 'discarded' ? decided : 'unseen';
}

function explainDifference(due: ExplainedDue, sent: LedgerDay): WhyDifferent | null {
  const { answered, state, closedAt } = sent;
  if (isNothing(differenceOf(due.counts, answered))) return hasUnseen(due.counts, answered) ? 'unseen' : null;
  if (state !== 'answered') return state;
  if (isLoweringHeld(due, sent)) return 'lowering_held';
  // While other work of the day is held, nothing of it is lowered.
  if (due.isPartial && !isMore(due.counts, answered)) return 'held';
  if (closedAt === null) return 'not_sent';
  return due.isOpen ? 'late' : 'dismissed';
}

function explainUnsent({ counts, day, timeZone }: ExplainedDue, now: Date): WhyDifferent | null {
  if (isNothing(counts)) return null;
  const hasBegun = day <= dayIn(now, 'UTC') && day <= dayIn(now, timeZone);
  return hasBegun ? 'not_sent' : 'not_begun';
}

/** Whether no source has a count any more that was reported. */
function hasUnseen(due: Counts, answered: Counts): boolean {
  return countNames.some((name) => due[name] === null && (answered[name] ?? 0) > 0);
}

/** What is due beyond what was answered. A count that no source has is not compared. */
export function differenceOf(due: Counts, sent: Counts): Counts {
  return toCounts((name) => (due[name] === null ? null : due[name] - (sent[name] ?? 0)));
}

function isMore(due: Counts, sent: Counts): boolean {
  return countNames.some((name) => (due[name] ?? 0) > (sent[name] ?? 0));
}
