import type { Row } from '../../db/schema.ts';

/** What keeps a scope from being read; all null where nothing does. */
export type ScopeTrouble = Pick<Row<'usageScope'>, 'failingSince' | 'goneSince' | 'refusedAt'>;

export const noTrouble: ScopeTrouble = { failingSince: null, goneSince: null, refusedAt: null };

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
  };
}
