import type { Generated, Selectable } from 'kysely';
import type { Day } from '../domain/usage.ts';

/** What the last comparison of work that was read with what was reported found. They have ids and numbers alone. */
export interface ComparisonTables {
  usageDifference: UsageDifferenceTable;
  usageDaySum: UsageDaySumTable;
}

/** What was read of something, and what the marketplace has of it. */
interface ComparedCounts {
  seenSeconds: number | null;
  seenTasks: number | null;
  seenLabels: number | null;
  sentSeconds: number | null;
  sentTasks: number | null;
  sentLabels: number | null;
}

/** A day of a trainer that the marketplace does not have as it was read, or a piece of held work. */
interface UsageDifferenceTable extends ComparedCounts {
  id: Generated<number>;
  /** Empty, as the contract is, for held work that may be of no contract or of several. */
  install: string;
  contractId: string;
  trainerId: string;
  day: Day;
  why: string;
  /** JSON of why it is held, where it was done, and the contracts that it may be of; null for other days. */
  held: string | null;
  heldId: string | null;
}

/** All work of one day, by install; of no install where no contract is known that it may be of. */
interface UsageDaySumTable extends ComparedCounts {
  install: string;
  day: Day;
}

export type UsageDifferenceRow = Selectable<UsageDifferenceTable>;
