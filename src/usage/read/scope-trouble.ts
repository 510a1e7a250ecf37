import type { Row } from '../../db/schema.ts';

/** What keeps a scope from being read; all null where nothing does. */
export type ScopeTrouble = Pick<Row<'usageScope'>, 'failingSince' | 'goneSince' | 'refusedAt' | 'alertedAt'>;

export const noTrouble: ScopeTrouble = { failingSince: null, goneSince: null, refusedAt: null, alertedAt: null };

/** A reading that has just failed. */
interface Failed {
  /** Whether a live link leads to the scope. Only such a scope has to stay readable. */
  isLinked: boolean;
  /** Whether the tool says that the scope does not exist. */
  isGone: boolean;
  /** When the reading began, where it will fail again until an operator changes something; else null. */
  refusedAt: string | null;
  now: string;
}

/** Pure: the trouble after one more failed reading. */
export function worsen(known: ScopeTrouble, failed: Failed): ScopeTrouble {
  const { isLinked, isGone, refusedAt, now } = failed;
  return {
    refusedAt,
    failingSince: isLinked ? (known.failingSince ?? now) : null,
    goneSince: isGone ? (known.goneSince ?? now) : null,
    alertedAt: known.alertedAt,
  };
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** A new scope may not be ready, and a tool may be down for a while. */
const firstReadMs = 10 * minuteMs;

/**
 * Pure: what to alert operators of now, and again after a day; null for nothing. A scope counts as gone once a second
 * answer says so.
 */
export function sayScopeTrouble(
  { failingSince, goneSince, alertedAt }: ScopeTrouble,
  readBeganAt: string | null,
  now: Date,
): string | null {
  const since = (instant: string | null) => now.getTime() - Date.parse(instant ?? '');
  if (failingSince === null || since(alertedAt) < dayMs) return null;
  if (goneSince !== null && since(goneSince) > 0)
    return 'The tool says that a linked project does not exist, so no work is read in it';
  if (readBeganAt === null)
    return since(failingSince) >= firstReadMs
      ? 'The work in a linked project could not be read yet, so none of it is reported'
      : null;
  return since(readBeganAt) >= dayMs
    ? 'The work in a project could not be read for a day, so no new work of it is reported'
    : null;
}
