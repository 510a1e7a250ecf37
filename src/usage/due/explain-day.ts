import { type Counts, countNames, type HeldReason, isNothing, toCounts } from '../../domain/usage.ts';
import { dayIn } from '../../lib/days.ts';
import { isDoubted, type LedgerDay } from '../report/ledger-day.ts';
import { isLoweringHeld } from '../report/plan-report.ts';
import type { StoredDue } from './due-store.ts';
import type { HeldState } from './held-store.ts';

/** Why the marketplace does not have what is due. */
export const describeDifference = {
  not_begun: 'its day has not started in UTC',
  not_sent: 'to be sent with the next report',
  held: 'held for your decision: see "gangway usage held"',
  discarded: 'discarded by an operator',
  lowering_held: 'held because it would be lowered: see "gangway usage held"',
  refused: 'refused by the marketplace',
  unsent: 'could not be sent',
  in_doubt: 'unknown: a request may have arrived, or may still arrive',
  late: 'changed after its last report: see "gangway usage held"',
  dismissed: 'changed after its last report, and dismissed by an operator',
  unseen: 'no longer seen; what was reported stays',
} as const;

export type WhyDifferent = keyof typeof describeDifference;

/** Why work is held. */
export const describeHeld: Record<HeldReason, string> = {
  no_contract: 'the trainer has no contract there',
  before_start: 'done before the contract started',
  after_end: 'done after the contract ended',
  several_contracts: 'several contracts were active at that time',
  unknown_instants: 'several contracts were active that day, and the time of some work is unknown',
  first_total: 'a total seen for the first time, which may include work from before the contract',
  two_sources: 'counted by two sources: a tool and an import, or two imports',
  over_a_day: 'more than 24 hours in one day',
  negative: 'less than zero',
};

export type ExplainedDue = Pick<StoredDue, 'day' | 'counts' | 'timeZone' | 'isPartial' | 'isOpen'>;

/**
 * Pure: why the marketplace does not have what is due; null if it has.
 *
 * @param decided the state of other work of that day which is due to no contract
 */
export function explainDay(
  due: ExplainedDue | undefined,
  sent: LedgerDay | undefined,
  now: Date,
  decided?: HeldState,
): WhyDifferent | null {
  if (sent === undefined) return due === undefined ? null : explainUnsent(due, now);
  const why = due === undefined ? explainUnseen(sent, decided) : explainDifference(due, sent);
  // A refused day is refused, whatever else may have arrived.
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
  // While other work of the day is held, the day is not lowered.
  if (due.isPartial && !isMore(due.counts, answered)) return 'held';
  if (closedAt === null) return 'not_sent';
  return due.isOpen ? 'late' : 'dismissed';
}

function explainUnsent({ counts, day, timeZone }: ExplainedDue, now: Date): WhyDifferent | null {
  if (isNothing(counts)) return null;
  const hasBegun = day <= dayIn(now, 'UTC') && day <= dayIn(now, timeZone);
  return hasBegun ? 'not_sent' : 'not_begun';
}

/** Whether a count was reported that no source has any more. */
function hasUnseen(due: Counts, answered: Counts): boolean {
  return countNames.some((name) => due[name] === null && (answered[name] ?? 0) > 0);
}

/** What is due beyond what was sent. A count that no source has is not compared. */
export function differenceOf(due: Counts, sent: Counts): Counts {
  return toCounts((name) => (due[name] === null ? null : due[name] - (sent[name] ?? 0)));
}

function isMore(due: Counts, sent: Counts): boolean {
  return countNames.some((name) => (due[name] ?? 0) > (sent[name] ?? 0));
}
