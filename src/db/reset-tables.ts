import type { Generated } from 'kysely';

export interface ResetTables {
  linkReset: LinkResetTable;
  mailed: MailedTable;
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

/** An invitation that was, or may have been, mailed in the last day. */
interface MailedTable {
  membershipId: number;
  /** Identifies the invitation among those of the membership. */
  invitedAt: string;
  install: string;
  addressDigest: string;
  mailedAt: string;
}
