import type { ContractKey } from '../../domain/evidence.ts';
import type { Counts, Day, WorkedOn } from '../../domain/usage.ts';
import type { HeldWork } from '../attribute/attribute-work.ts';
import type { WhyDifferent } from './explain-day.ts';

/** A day of which the marketplace has something else than was read. What has not begun yet is none. */
export interface Difference extends ContractKey {
  trainerId: string;
  day: Day;
  why: DifferenceCause;
  seen: Counts | null;
  sent: Counts | null;
  /** Set for held work, which may be of several contracts or of none. */
  held: HeldFacts | null;
  heldId: string | null;
}

export type DifferenceCause = Exclude<WhyDifferent, 'not_begun'> | 'held';

export interface HeldFacts extends Pick<HeldWork, 'reason' | 'contracts'> {
  source: string;
  workedOn: WorkedOn;
}
