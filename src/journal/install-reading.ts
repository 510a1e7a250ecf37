/** Whether an install was read as a whole, at all times of a period. */
export interface InstallReading {
  install: string;
  isCertified: boolean;
  /** When it was not, as far as that lies in the period. */
  unread: { from: string; until: string; why: 'never_read' | 'reading_failed' }[];
}

export interface Period {
  from: string;
  to: string;
}

/** A reading of an install that has ended. */
export interface Reading {
  beganAt: string;
  /** Whether all that was asked for was read. */
  isWhole: boolean;
}

/**
 * From a reading that failed until the next one that did not, an install is known in part only; so it is before its
 * first one. Pure.
 */
export function readingOf(install: string, readings: readonly Reading[], { from, to }: Period): InstallReading {
  const unread: InstallReading['unread'] = [];
  let gap: { since: string; why: 'never_read' | 'reading_failed' } | undefined = { since: '', why: 'never_read' };
  const endGap = (until: string) => {
    if (gap !== undefined && gap.since < to && until > from) {
      unread.push({ from: gap.since > from ? gap.since : from, until: until < to ? until : to, why: gap.why });
    }
    gap = undefined;
  };
  for (const { beganAt, isWhole } of readings.toSorted((a, b) => (a.beganAt < b.beganAt ? -1 : 1))) {
    if (isWhole) endGap(beganAt);
    else gap ??= { since: beganAt, why: 'reading_failed' };
  }
  endGap(to);
  return { install, isCertified: unread.length === 0, unread };
}
