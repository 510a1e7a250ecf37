import { addCounts, type Counts, countNames, toCounts } from '../../domain/usage.ts';
import type { LedgerDay } from '../report/ledger-day.ts';

/**
 * How the volume that the marketplace has consumed compares with what it has answered. `explained`: by requests in
 * doubt, if some of them have arrived; `more` and `less`: by nothing that is known here.
 */
export type ConsumedVerdict = 'equal' | 'explained' | 'more' | 'less';

export interface ConsumedExplanation {
  verdict: ConsumedVerdict;
  /** What was consumed beyond what was answered. */
  difference: Counts;
  /** When the requests were sent that must have arrived, where they explain the difference. */
  arrived: string[];
}

type Unheard = Pick<LedgerDay, 'state' | 'sentAt' | 'answered' | 'tried'>;

/** With more requests than this, no explanation is searched for. */
const mostRequests = 12;

/** Pure. The entries of one request arrive together or not at all. */
export function explainConsumed(days: readonly Unheard[], reported: Counts, consumed: Counts): ConsumedExplanation {
  const difference = toCounts((name) => (consumed[name] === null ? null : consumed[name] - (reported[name] ?? 0)));
  if (isZero(difference)) return { verdict: 'equal', difference, arrived: [] };
  const inDoubt = days.filter(({ state }) => state === 'in_doubt');
  const requests = [...Map.groupBy(inDoubt, ({ sentAt }) => sentAt)].map(([sentAt, some]) => ({
    sentAt,
    change: some.map(changeOf).reduce(addCounts),
  }));
  const arrived = requests.length > mostRequests ? null : findArrived(requests, difference);
  if (arrived !== null) return { verdict: 'explained', difference, arrived };
  const isMore = countNames.some((name) => (difference[name] ?? 0) > 0);
  return { verdict: isMore ? 'more' : 'less', difference, arrived: [] };
}

function changeOf({ answered, tried }: Unheard): Counts {
  return toCounts((name) => (tried[name] === null ? 0 : tried[name] - (answered[name] ?? 0)));
}

/** The fewest requests that make up the difference; null where none do. */
function findArrived(requests: readonly { sentAt: string; change: Counts }[], difference: Counts): string[] | null {
  let found: string[] | null = null;
  for (let chosen = 1; chosen < 2 ** requests.length; chosen += 1) {
    const some = requests.filter((_, index) => Math.floor(chosen / 2 ** index) % 2 === 1);
    const sum = some.map(({ change }) => change).reduce(addCounts);
    const rest = toCounts((name) => (difference[name] === null ? null : difference[name] - (sum[name] ?? 0)));
    if (isZero(rest) && (found === null || some.length < found.length)) found = some.map(({ sentAt }) => sentAt);
  }
  return found;
}

function isZero(counts: Counts): boolean {
  return countNames.every((name) => !counts[name]);
}
