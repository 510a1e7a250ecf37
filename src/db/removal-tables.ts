import type { Generated } from 'kysely';
import type { Clearance, PlanState } from '../domain/brake.ts';
import type { RemovalCause } from '../domain/standing.ts';

export interface RemovalTables {
  awaitedReading: AwaitedReadingTable;
  leftProject: LeftProjectTable;
  plan: PlanTable;
  planItem: PlanItemTable;
  removal: RemovalTable;
}

/** Of a membership: what has to be looked at again before it counts for good. */
export interface UnconfirmedColumns {
  /** Until when a call may still arrive of which nobody knows the end; null once that was looked at. */
  lateUntil: string | null;
  /** When a look found nobody who is to be out, and nothing was called; null once that is confirmed. */
  missedAt: string | null;
}

/** Removals beyond the brake: a stable set that an operator decides about. */
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
  /** What the decision came to for this one; null while there is none. */
  outcome: PlanItemOutcome | null;
}

export type PlanItemOutcome = 'approved' | 'rejected' | 'stale';

/** Every cleared removal with its clearance. The brake counts these rows. */
interface RemovalTable {
  id: Generated<number>;
  install: string;
  membershipId: number;
  generation: number;
  cause: RemovalCause;
  clearance: Clearance;
  clearedAt: string;
}

/** A project that somebody has left who stays in its group for another. */
interface LeftProjectTable {
  membershipId: number;
  project: string;
  /** From when what is assigned to them there is to be taken away. */
  dueAt: string;
  endedAt: string | null;
}

/** A removal that was due and had to wait for the marketplace to be asked. */
interface AwaitedReadingTable {
  membershipId: number;
  generation: number;
  /** Whether it was an end that was said outright. */
  isExplicit: number;
  since: string;
}
