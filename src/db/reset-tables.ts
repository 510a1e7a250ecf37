import type { Generated } from 'kysely';

export interface ResetTables {
  linkReset: LinkResetTable;
  mailed: MailedTable;
}

/** The link of a group that lets everybody in, and when it is to be made worthless. */
interface LinkResetTable {
  tool: string;
  groupId: string;
  /** How often that was wanted, ever. */
  wanted: number;
  /** When it was last done. */
  resetAt: string | null;
  /** Null when there is nothing to do. */
  nextAttemptAt: string | null;
  attempts: Generated<number>;
}

/** An invitation that was mailed in the last day, or may have been. */
interface MailedTable {
  membershipId: number;
  /** Which of the membership's invitations it was. */
  invitedAt: string;
  install: string;
  addressDigest: string;
  mailedAt: string;
}
