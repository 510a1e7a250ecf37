import type { Day } from '../../domain/usage.ts';
import { addDays } from '../../lib/add-days.ts';

/** A contract that a trainer's work may be of. */
export interface ContractCandidate {
  install: string;
  contractId: string;
  /** The time zone in which its days are counted. */
  timeZone: string;
  /** Null where it is not known; then no day is excluded. */
  firstDay: Day | null;
  /** Null while the contract goes on. */
  lastDay: Day | null;
  /** When it began; null where only the day is known. */
  startsAt: string | null;
  /** An instant by which it had certainly ended; null where only the day is known. */
  endsAt: string | null;
}

/** Work that was saved late still counts on the day after the end. */
const graceDays = 1;

/** The candidates that ran on a day. With grace, also those that ended the day before. */
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
 * The candidates of a day in their order, each until the next one began. Null where they overlap, or where this is
 * not known. A candidate that was followed by another before that day is left out.
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

/** An unknown instant comes first, and only the first candidate may have one. */
function instantOf(instant: string | null): number {
  return instant === null ? Number.NEGATIVE_INFINITY : Date.parse(instant);
}
