import type { Generated, Selectable } from 'kysely';
import type { Counts, Day, LedgerState } from '../domain/usage.ts';

/** Work as it was read from the tools, and as it was reported. It has ids and no names, so it is kept for good. */

/** A scope in which a tool counts work, and how far it was read. */
export interface UsageScopeTable {
  tool: string;
  scope: string;
  /** The install that a reading was last wanted for. */
  install: string;
  /** When to read it (again); null if no reading is wanted. */
  nextReadAt: string | null;
  leaseToken: string | null;
  leasedUntil: string | null;
  attempts: Generated<number>;
  failure: string | null;
  /** When the last reading began, if it and the one before were refused. An operator must change something. */
  refusedAt: string | null;
  /** When the last finished reading began, and the last finished complete one. */
  readBeganAt: string | null;
  completeBeganAt: string | null;
  /** Since when it cannot be read although a live link needs it. */
  failingSince: string | null;
  /** Since when the tool says that there is no such scope. */
  goneSince: string | null;
  /** When an alert was raised about it. */
  alertedAt: string | null;
  /** What the last reading of the tool lacked, and since when. */
  gap: string | null;
  gapSince: string | null;
}

/** The groups whose members work in a scope. */
export interface UsageScopeGroupTable {
  tool: string;
  groupId: string;
  scope: string;
}

export type UsageScopeRow = Selectable<UsageScopeTable>;

/** The id of a person in the tool, and what is kept about them between readings of a scope. */
export interface UsagePersonTable {
  tool: string;
  scope: string;
  memberId: string;
  trainerId: string;
  /** The generation of their membership at the last reading. Another one means that a removal began since. */
  generation: number;
  /** JSON of `Totals`, for tools that do not count by day; null for others. */
  totals: string | null;
  /** Since when the tool shows less work of them than was counted; otherwise null. */
  fallenSince: string | null;
}

export interface UsageItemTable {
  tool: string;
  scope: string;
  memberId: string;
  itemId: string;
  taskId: string;
  /** Whether the task counts. A skipped task does not. */
  isDone: number;
  doneDay: Day;
  doneAt: string;
  /** The last day on which it counts. */
  lastDay: Day;
  labels: number | null;
  seconds: number | null;
  /** JSON: the day, the instant and the seconds of each growth. */
  grown: string;
}

/** The work of one member in a scope on one day. */
export interface UsageDayTable extends Counts {
  tool: string;
  scope: string;
  memberId: string;
  day: Day;
  trainerId: string;
  /** Whether a removal has begun since. Then it may be raised but never lowered. */
  isFrozen: number;
  /** Whether a piece of work from before that removal was deleted or moved since. */
  isTorn: Generated<number>;
  seenAt: string;
}

/** The usage that was reported for a trainer, by contract and day. */
export interface UsageLedgerTable extends Counts {
  install: string;
  contractId: string;
  trainerId: string;
  day: Day;
  /** What was sent last, whatever its outcome. The columns above are what was answered. */
  triedSeconds: number | null;
  triedTasks: number | null;
  triedLabels: number | null;
  state: LedgerState;
  /** Until when a request with an unknown outcome may still arrive. */
  doubtedUntil: string | null;
  /** Since when a lower total waits for an operator. */
  loweringHeldAt: string | null;
  /** When a lower total was last answered, if it has not risen again since. */
  loweredAt: string | null;
  /** JSON of the greatest total that was answered before. */
  loweredFrom: string | null;
  sentAt: string;
  answeredAt: string | null;
  /** When it was sent for the last time, because it left the look-back. */
  closedAt: string | null;
  reportId: string;
  requestId: string | null;
  status: number | null;
  message: string | null;
}

/** A day that needs an operator, and when an alert about it was last raised. */
export interface UsageTroubleTable {
  install: string;
  kind: UsageTroubleKind;
  /** A digest that identifies the day of a trainer. */
  work: string;
  seenAt: string;
  alertedAt: string | null;
}

/**
 * `work`: its contract is unknown; `lowering`: a run would lower too much; `refused`: the marketplace
 * refused it.
 */
export type UsageTroubleKind = 'work' | 'lowering' | 'refused';

/** The decision of an operator about work whose contract was unknown. */
export interface UsageDecisionTable {
  id: Generated<number>;
  /** The key of the observation. */
  work: string;
  /** Null if it is not reported at all. */
  install: string | null;
  contractId: string | null;
  decidedAt: string;
}

/** A scope whose work must be read before a removal. */
export interface FinalReadingScopeTable {
  membershipId: number;
  tool: string;
  scope: string;
}

/** A removal that waits, or has waited, until the work in its scopes is read. */
export interface FinalReadingTable {
  membershipId: number;
  generation: number;
  wantedAt: string;
  /** Whether the wait ended without a reading. */
  isUnread: Generated<number>;
  /** When the work was reported, or when nothing waits for the report any more. */
  reportedAt: string | null;
  /** When to try the report again after a failure. */
  reportAfter: string | null;
}
