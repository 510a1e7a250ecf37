import type { Day } from '../../domain/usage.ts';
import { addDays } from '../../lib/add-days.ts';

/** A contract to which work may belong, for one trainer. */
export interface ContractCandidate {
  install: string;
  contractId: string;
  /** In which its days are counted. */
  timeZone: string;
  /** Null where it is not known, which excludes nothing. */
  firstDay: Day | null;
  /** Null while it goes on. */
  lastDay: Day | null;
  /** The instant that it began; null where it is not known to be better than a day. */
  startsAt: string | null;
  /** An instant by which it had ended for sure; null where there is none better than a day. */
  endsAt: string | null;
}

/** What was saved late, on the day after the end. */
const graceDays = 1;

/** Those that ran on a day; with what is saved late, also those that had ended the day before. */
export function runningOn(
  candidates: readonly ContractCandidate[],
  day: Day,
  { withGrace }: { withGrace: boolean },
): ContractCandidate[] {
  const grace = withGrace ? graceDays : 0;
  return candidates.filter(({ firstDay, lastDay }) => {
    const isEarly = firstDay !== null && day < firstDay;
    return !isEarly && (lastDay === null || day <= addDays(lastDay, grace));
  });
}

/**
 * Those of a day in the order in which they had it, each until the next began; null where they did
 * not follow each other, or nobody knows. One that another had followed before that day is none of
 * them.
 */
export function successionOn(candidates: readonly ContractCandidate[], day: Day): ContractCandidate[] | null {
  const ordered = candidates.toSorted(byStart);
  const follows = ordered.slice(1).every(({ startsAt }, index) => {
    const endsAt = ordered[index]?.endsAt ?? null;
    return startsAt !== null && endsAt !== null && instantOf(endsAt) <= instantOf(startsAt);
  });
  if (!follows) return null;
  const first = ordered.findLastIndex(({ firstDay }) => firstDay !== null && firstDay < day);
  return ordered.slice(Math.max(first, 0));
}

function byStart(a: ContractCandidate, b: ContractCandidate): number {
  return Math.sign(instantOf(a.startsAt) - instantOf(b.startsAt)) || 0;
}

/** What is not known comes first, and only the first may be that. */
function instantOf(instant: string | null): number {
  return instant === null ? Number.NEGATIVE_INFINITY : Date.parse(instant);
}
