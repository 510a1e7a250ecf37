import type { UsagePlaceTable } from '../../db/usage-tables.ts';

/** What keeps a scope from being read; all null where nothing does. */
export type ScopeTrouble = Pick<UsagePlaceTable, 'failingSince' | 'goneSince' | 'refusedAt' | 'toldAt'>;

export const noTrouble: ScopeTrouble = { failingSince: null, goneSince: null, refusedAt: null, toldAt: null };

/** What has just failed. */
interface Failed {
  /** Whether a live link leads there: nobody expects to read any other for good. */
  isLinked: boolean;
  /** Whether the tool says that there is no such scope. */
  isGone: boolean;
  /** When a reading began that will go no better without somebody changing something; else null. */
  refusedAt: string | null;
  now: string;
}

/** Pure: after one more reading that failed. */
export function worsen(known: ScopeTrouble, failed: Failed): ScopeTrouble {
  const { isLinked, isGone, refusedAt, now } = failed;
  return {
    refusedAt,
    failingSince: isLinked ? (known.failingSince ?? now) : null,
    goneSince: isGone ? (known.goneSince ?? now) : null,
    toldAt: known.toldAt,
  };
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** A scope that is new may not be ready, and a tool may be down for a while. */
const firstReadMs = 10 * minuteMs;

/**
 * Pure: what an operator is to be told of it now, and again after a day; null for nothing. That a
 * scope is gone counts once a second answer says so.
 */
export function sayScopeTrouble(
  { failingSince, goneSince, toldAt }: ScopeTrouble,
  readBeganAt: string | null,
  now: Date,
): string | null {
  const since = (instant: string | null) => now.getTime() - Date.parse(instant ?? '');
  if (failingSince === null || since(toldAt) < dayMs) return null;
  if (goneSince !== null && since(goneSince) > 0)
    return 'The tool says that a scope that is linked is not there: no work is read there';
  if (readBeganAt === null)
    return since(failingSince) >= firstReadMs
      ? 'The work in a scope that is linked could never be read: nothing of it is reported'
      : null;
  return since(readBeganAt) >= dayMs
    ? 'The work in a scope could not be read for a day: nothing new of it is reported'
    : null;
}
