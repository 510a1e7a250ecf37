import type { Generated, Selectable } from 'kysely';
import type { Counts, Day, LedgerState } from '../domain/usage.ts';

/** Work as it was read in the tools, and as it was reported. Kept for good: by ids, without names. */

/** A place where work is counted, and how far it has been read. */
export interface UsagePlaceTable {
  tool: string;
  scope: string;
  /** When to read it (again); null while nobody wants that. */
  nextReadAt: string | null;
  leaseToken: string | null;
  leasedUntil: string | null;
  attempts: Generated<number>;
  failure: string | null;
  /** When a reading began that was refused, as the one before: it takes somebody to change that. */
  refusedAt: string | null;
  /** When the last reading that ended began, and the last one of everything. */
  readBeganAt: string | null;
  completeBeganAt: string | null;
  /** Since when it cannot be read although a live link leads there. */
  failingSince: string | null;
  /** Since when the tool says that there is no such place. */
  goneSince: string | null;
  /** When somebody was told of that. */
  toldAt: string | null;
  /** What the tool could not tell at the last reading, and since when. */
  gap: string | null;
  gapSince: string | null;
}

/** The groups whose members work at a place. */
export interface UsagePlaceGroupTable {
  tool: string;
  groupId: string;
  scope: string;
}

export type UsagePlaceRow = Selectable<UsagePlaceTable>;

/** What the tool calls a person, and what is remembered of them between readings of a place. */
export interface UsagePersonTable {
  tool: string;
  scope: string;
  memberId: string;
  trainerId: string;
  /** Of their membership at the last reading: another one tells that a removal was begun since. */
  generation: number;
  /** JSON of `Totals`, for tools that know no days; null for others. */
  totals: string | null;
  /** Since when the tool tells less of them than was counted; null where it does not. */
  fallenSince: string | null;
}

export interface UsageItemTable {
  tool: string;
  scope: string;
  memberId: string;
  itemId: string;
  /** Empty where nothing came of it; then its task is the other. */
  taskId: string;
  skippedTaskId: string | null;
  doneDay: Day;
  /** The last day to which it counts anything. */
  lastDay: Day;
  labels: number | null;
  seconds: number | null;
  /** JSON: the seconds of each day. */
  grown: string;
  /** JSON of `Moments`: the instants behind these days; null where they are not known. */
  moments: string | null;
}

/** What one member has done at a place on one day. */
export interface UsageDayTable extends Counts {
  tool: string;
  scope: string;
  memberId: string;
  day: Day;
  trainerId: string;
  /** Whether a removal was begun since: it may rise, and never falls. */
  isFrozen: number;
  /** Whether a piece that was seen before that removal was taken away or moved since. */
  isTorn: Generated<number>;
  seenAt: string;
}

/** What was reported for a trainer, by contract and day. */
export interface UsageLedgerTable extends Counts {
  install: string;
  contractId: string;
  trainerId: string;
  day: Day;
  /** What was sent last, whatever came of it; beside it stands what was answered. */
  triedSeconds: number | null;
  triedTasks: number | null;
  triedLabels: number | null;
  state: LedgerState;
  /** Until then a request may arrive of which nobody knows the end. */
  doubtedUntil: string | null;
  /** Since when what would lower it waits for somebody to look. */
  loweringHeldAt: string | null;
  /** When a lower count was answered last, where it has not risen again since. */
  loweredAt: string | null;
  /** JSON of the most that had been answered before. */
  loweredFrom: string | null;
  sentAt: string;
  answeredAt: string | null;
  /** When it was sent for the last time, as it had left the look-back. */
  closedAt: string | null;
  reportId: string;
  requestId: string | null;
  status: number | null;
  message: string | null;
}

/** A day that needs somebody, and when that was said last. */
export interface UsageTroubleTable {
  install: string;
  kind: UsageTroubleKind;
  /** Which day of whose work: a digest. */
  work: string;
  seenAt: string;
  toldAt: string | null;
}

/**
 * `work`: it cannot be told which contract it is of; `lowering`: a run would lower too much;
 * `refused`: by the marketplace.
 */
export type UsageTroubleKind = 'work' | 'lowering' | 'refused';

/** What an operator has decided about work that could not be told to be of one contract. */
export interface UsageDecisionTable {
  id: Generated<number>;
  /** The key of the observation. */
  work: string;
  /** Null where it is not to be reported at all. */
  install: string | null;
  contractId: string | null;
  decidedAt: string;
}

/** A place whose work a removal waits for. */
export interface FinalReadingPlaceTable {
  membershipId: number;
  tool: string;
  scope: string;
}

/** A removal that has waited for the work at its place to be read. */
export interface FinalReadingTable {
  membershipId: number;
  generation: number;
  wantedAt: string;
  /** Whether the wait is over although nothing was read. */
  isUnread: Generated<number>;
  /** When what was read had been reported, or nobody waits for that any more. */
  reportedAt: string | null;
  /** When to try that again, where it failed. */
  reportAfter: string | null;
}
