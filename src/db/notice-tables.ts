import type { Generated } from 'kysely';
import type { DispatchState, NoticeKind } from '../domain/notice.ts';

/** The tables of messages: notices, and invitations by mail. They have only ids, numbers and digests. */

export interface NoticeTables {
  notice: NoticeTable;
  dispatch: DispatchTable;
  mailed: MailedTable;
}

interface NoticeTable {
  id: Generated<number>;
  kind: NoticeKind;
  install: string;
  contractId: string;
  occurredAt: string;
  isRepeat: number;
  /** JSON of `BudgetFacts`. */
  budget: string;
  /** The fields of an alert as JSON; null for other notices. */
  alert: Generated<string | null>;
  /** Equal for alerts of one kind about the same subject. */
  subjectDigest: Generated<string | null>;
}

/** A notice that is to be sent through one channel. */
interface DispatchTable {
  id: Generated<number>;
  noticeId: number;
  channel: string;
  state: Generated<DispatchState>;
  /** Identifies the message that contains it, alone or with others. Set at the first attempt. */
  messageId: string | null;
  attempts: Generated<number>;
  /** When to try (again), or until when it is claimed; null when it is settled. */
  nextAttemptAt: string | null;
  leaseToken: string | null;
  failure: string | null;
  createdAt: string;
  settledAt: string | null;
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
