import type { GuidelineState } from '../../domain/guideline-state.ts';
import type { DispatchState, NoticeKind } from '../../domain/notice.ts';
import { bigint, counter, flag, instant, integer, table, text } from '../columns.ts';

export const messages = {
  notice: table(['id'], {
    id: counter(),
    kind: text<NoticeKind>(),
    install: text(),
    contractId: text(),
    occurredAt: instant(),
    isRepeat: flag(),
    /** JSON of `BudgetFacts`. */
    budget: text(),
    /** The fields of an alert as JSON; null for other notices. */
    alert: text().nullable(),
  }),

  /** A notice for one channel. */
  dispatch: table(['id'], {
    id: counter(),
    noticeId: bigint(),
    channel: text(),
    state: text<DispatchState>().optional(),
    /** Identifies the message that it is part of. Set at the first attempt. */
    messageId: text().nullable(),
    attempts: integer().optional(),
    /** When to try (again), or the end of its lease; null once it is settled. */
    nextAttemptAt: instant('lease').nullable(),
    leaseToken: text().nullable(),
    failure: text().nullable(),
    createdAt: instant(),
    settledAt: instant().nullable(),
  }),

  /** An alert about one subject: one row, however often it is raised. */
  alert: table(['id'], {
    id: counter(),
    kind: text(),
    /** The digest of the kind and the subject. */
    digest: text(),
    /** JSON: the ids of what is observed together, in the order of the kind. */
    scope: text(),
    /** JSON of `AlertSubject`. */
    subject: text(),
    /** JSON: all ids and names of its notice, masked. */
    about: text(),
    message: text(),
    raisedAt: instant(),
    /** When the trouble was last found. */
    seenAt: instant(),
    /** Whether a notice has announced it since it was raised. */
    isAnnounced: flag().optional(),
    /** The count when it was last announced; null if it counts nothing. */
    count: integer().nullable(),
    /** When it was last announced, even if it was over since. */
    announcedAt: instant().nullable(),
    /** Null until it is over. */
    overAt: instant().nullable(),
  }),

  /** The guidelines that Gangway last wrote to a project, and what the last look found. */
  guideline: table(['tool', 'project'], {
    tool: text(),
    project: text(),
    /** The install for whose job Gangway last looked. */
    install: text(),
    /** The manual that was written last or is being written; null if there is none. */
    manualId: text().nullable(),
    publicationNumber: integer().nullable(),
    /** The digest of the text that was sent. */
    sentDigest: text().nullable(),
    /** The digest of its letters and digits, which a tool that cleans the text keeps. */
    wordsDigest: text().nullable(),
    /** The digest of the text before a call with an unknown outcome; null if there is no such call. */
    beforeDigest: text().nullable(),
    /** The digest of what the tool shows after the last call; null if unknown. */
    heldDigest: text().nullable(),
    writtenAt: instant().nullable(),
    lookedAt: instant(),
    state: text<GuidelineState>(),
    /** Since when it is in this state. */
    since: instant(),
    /** Why it is in this state, for operators; null if the state says everything. */
    says: text().nullable(),
    /** How many looks in a row had no answer. */
    failures: integer(),
  }),
};
