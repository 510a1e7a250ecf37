import type { Generated } from 'kysely';
import type { DispatchState, NoticeKind } from '../domain/notice.ts';

/** The tables of messages: alerts, notices, and invitations by mail. They have only ids, numbers and digests. */

export interface NoticeTables {
  alert: AlertTable;
  notice: NoticeTable;
  dispatch: DispatchTable;
  mailed: MailedTable;
}

/** An alert about one subject: one row, however often it is raised. */
interface AlertTable {
  id: Generated<number>;
  kind: string;
  /** Of the kind and the subject. */
  digest: string;
  /** JSON: what is observed together, as ids in the order that the kind names. */
  scope: string;
  /** JSON of `AlertSubject`: the ids that identify what it is about. */
  subject: string;
  /** JSON: all ids and names of its notice, masked. */
  about: string;
  message: string;
  raisedAt: string;
  /** When the trouble was last found. */
  seenAt: string;
  /** Whether it was announced since it was raised. */
  isAnnounced: Generated<number>;
  /** When it was last announced, also before it was last over. */
  announcedAt: string | null;
  /** Null while it stands. */
  overAt: string | null;
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
