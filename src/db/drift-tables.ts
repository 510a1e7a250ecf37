import type { Selectable } from 'kysely';

/** What the latest complete listing of each group showed. */
export interface DriftTables {
  driftListing: DriftListingTable;
  driftFinding: DriftFindingTable;
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

export type DriftFindingRow = Selectable<DriftFindingTable>;
