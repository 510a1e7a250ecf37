import { type Counts, countNames, type Day, toCounts } from '../../domain/usage.ts';
import { dayIn } from '../../lib/day-in.ts';
import { isDoubted, type LedgerDay } from '../report/ledger-day.ts';

/**
 * Why the marketplace may have other counts than were seen. `not_begun`: the day has not begun everywhere;
 * `not_sent`: the next run sends it; `lowering_held`: an operator has to accept the lowering; `refused` and `unsent`:
 * the message says why; `in_doubt`: a request with an unknown outcome has arrived or may; `left_lookback`: it changed
 * too late; `unseen`: what was reported is no longer seen, or is held, and stays.
 */
export type WhyDifferent =
  | 'not_begun'
  | 'not_sent'
  | 'lowering_held'
  | 'refused'
  | 'unsent'
  | 'in_doubt'
  | 'left_lookback'
  | 'unseen';

export interface ComparedDay {
  day: Day;
  counts: Counts;
  timeZone: string;
}

/** Pure. Null where the seen counts are the answered ones. */
export function explainDay(seen: ComparedDay | undefined, sent: LedgerDay | undefined, now: Date): WhyDifferent | null {
  if (sent === undefined) return explainUnsent(seen, now);
  if (sent.heldSince !== null) return 'lowering_held';
  if (sent.state !== 'answered') return sent.state;
  const isInDoubt = isDoubted(sent);
  if (seen === undefined) return isInDoubt ? 'in_doubt' : 'unseen';
  if (isSame(differenceOf(seen.counts, sent.answered))) return isInDoubt ? 'in_doubt' : null;
  return sent.closedAt === null ? 'not_sent' : 'left_lookback';
}

function explainUnsent(seen: ComparedDay | undefined, now: Date): WhyDifferent | null {
  if (seen === undefined || countNames.every((name) => !seen.counts[name])) return null;
  const { day, timeZone } = seen;
  const hasBegun = day <= dayIn(now, 'UTC') && day <= dayIn(now, timeZone);
  return hasBegun ? 'not_sent' : 'not_begun';
}

/** What was seen beyond what was answered. A count that no source has is not compared. */
export function differenceOf(seen: Counts, sent: Counts): Counts {
  return toCounts((name) => (seen[name] === null ? null : seen[name] - (sent[name] ?? 0)));
}

function isSame(difference: Counts): boolean {
  return countNames.every((name) => !difference[name]);
}
