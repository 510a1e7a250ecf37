import type { Generated } from 'kysely';
import type { Clearance, PlanState } from '../domain/brake.ts';
import type { RemovalCause } from '../domain/standing.ts';

export interface RemovalTables {
  awaitedReading: AwaitedReadingTable;
  leftProject: LeftProjectTable;
  plan: PlanTable;
  planItem: PlanItemTable;
  removal: RemovalTable;
  removalTotal: RemovalTotalTable;
  linkReset: LinkResetTable;
}

/** The columns of a membership that needs one more look before its state counts. */
export interface UnconfirmedColumns {
  /** Until when a call with an unknown outcome may still arrive; null after a later look. */
  lateUntil: string | null;
  /** When a look found a member gone without a call by Gangway; null when that is confirmed. */
  missedAt: string | null;
}

/** Removals that the brake holds: a fixed set that an operator decides about. */
interface PlanTable {
  id: Generated<number>;
  install: string;
  state: PlanState;
  createdAt: string;
  decidedAt: string | null;
}

interface PlanItemTable {
  planId: number;
  membershipId: number;
  generation: number;
  cause: RemovalCause;
  /** The decision about this removal; null while there is none. */
  outcome: PlanItemOutcome | null;
}

export type PlanItemOutcome = 'approved' | 'rejected' | 'stale';

/** Every removal that was cleared, and why. The brake counts these. */
interface RemovalTable {
  id: Generated<number>;
  install: string;
  membershipId: number;
  generation: number;
  cause: RemovalCause;
  clearance: Clearance;
  clearedAt: string;
}

/** A project that a trainer has left, while another project keeps them in its group. */
interface LeftProjectTable {
  membershipId: number;
  project: string;
  /** When the trainer's assignments in the project may be ended. */
  dueAt: string;
  endedAt: string | null;
}

/** A removal that was due and waits for the marketplace to be asked. */
interface AwaitedReadingTable {
  membershipId: number;
  generation: number;
  /** Whether an explicit end is the reason. */
  isExplicit: number;
  since: string;
  /** When it began to wait for lists of active contracts; null while something else is waited for. */
  listsWaitedSince: string | null;
}

/** The number of receipts with `removed`, counted when they are written. */
interface RemovalTotalTable {
  install: string;
  removed: number;
}

/** The shared invitation link of a group, and when it is to be reset. */
interface LinkResetTable {
  tool: string;
  groupId: string;
  /** How often a reset was requested. */
  wanted: number;
  /** When it was last reset. */
  resetAt: string | null;
  /** Null when there is nothing to do. */
  nextAttemptAt: string | null;
  attempts: Generated<number>;
}
