import type { Generated, Selectable } from 'kysely';

/** What the latest complete listing of each group showed, and what readings of the marketplace have found. */
export interface DriftTables {
  driftListing: DriftListingTable;
  driftFinding: DriftFindingTable;
  missedEvent: MissedEventTable;
}

interface DriftListingTable {
  tool: string;
  groupId: string;
  /** By whose reading it was listed. */
  install: string;
  listedAt: string;
  /** How many members the tool listed. */
  listed: number;
  /** How many findings there was no room for. */
  unkept: number;
}

/** A member that is not as it should be. */
interface DriftFindingTable {
  /** Random. */
  id: string;
  tool: string;
  groupId: string;
  kind: string;
  /** Null for an account that belongs to no known trainer. */
  membershipId: number | null;
  /** When the first of the listings began that have shown it without a break. */
  since: string;
  /** The account as the tool shows it, as sealed JSON; null where there is a membership. */
  content: Buffer | null;
  /** Of its address, so that it is found when a person is to be forgotten. */
  addressDigest: string | null;
}

/** A change at the marketplace that a reading has found, and that no delivery had said before. Ids alone. */
interface MissedEventTable {
  id: Generated<number>;
  install: string;
  kind: 'start' | 'end' | 'link' | 'link_removed' | 'joined' | 'left';
  contractId: string | null;
  linkId: string | null;
  trainerId: string | null;
  foundAt: string;
}

export type DriftFindingRow = Selectable<DriftFindingTable>;
