import type { GuidelineState } from '../../domain/guideline-state.ts';
import type { DispatchState, NoticeKind } from '../../domain/notice.ts';
import { bigint, counter, flag, instant, integer, table, text } from '../columns.ts';

export const messages = {
  notice: table({
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

  /** A notice that is to be sent through one channel. */
  dispatch: table(
    {
      id: counter(),
      noticeId: bigint().references('notice'),
      channel: text(),
      state: text<DispatchState>().default('waiting'),
      /** Identifies the message that contains it, alone or with others. Set at the first attempt. */
      messageId: text().nullable(),
      attempts: integer().default(0),
      /** When to try (again), or until when it is claimed; null when it is settled. */
      nextAttemptAt: instant('lease').nullable(),
      leaseToken: text().nullable(),
      failure: text().nullable(),
      createdAt: instant(),
      settledAt: instant().nullable(),
    },
    {
      indexes: {
        due: ['channel', 'nextAttemptAt'],
        settled: ['settledAt'],
        ofNotice: ['noticeId'],
        ofLease: ['leaseToken'],
      },
    },
  ),

  /** An alert about one subject: one row, however often it is raised. */
  alert: table(
    {
      id: counter(),
      kind: text(),
      /** The digest of the kind and the subject. */
      digest: text(),
      /** JSON: what is observed together, as ids in the order that the kind names. */
      scope: text(),
      /** JSON of `AlertSubject`: the ids that identify what it is about. */
      subject: text(),
      /** JSON: all ids and names of its notice, masked. */
      about: text(),
      message: text(),
      raisedAt: instant(),
      /** When the trouble was last found. */
      seenAt: instant(),
      /** Whether it was announced since it was raised. */
      isAnnounced: flag().default(false),
      /** The count when it was last announced; null if it counts nothing. */
      count: integer().nullable(),
      /** When it was last announced, also before it was last over. */
      announcedAt: instant().nullable(),
      /** Null while it stands. */
      overAt: instant().nullable(),
    },
    {
      indexes: {
        digest: { on: ['digest'], isUnique: true },
        standing: { on: ['kind', 'id'], where: 'over_at is null' },
        over: { on: ['overAt'], where: 'over_at is not null' },
      },
    },
  ),

  /** The guidelines of a project, as Gangway wrote them last, and what the last look found. */
  guideline: table(
    {
      tool: text(),
      project: text(),
      /** The install by whose job it was looked at last. */
      install: text(),
      /** The manual that was written last, or is being written; null if none was. */
      manualId: text().nullable(),
      publicationNumber: integer().nullable(),
      /** The digest of the text that was sent. */
      sentDigest: text().nullable(),
      /** The digest of its letters and digits alone, which stay when a tool cleans a text. */
      wordsDigest: text().nullable(),
      /** The digest of what was there before a call whose outcome is not known; null if no such call was made. */
      beforeDigest: text().nullable(),
      /** The digest of what the tool gave back after the last call; null until that is known. */
      heldDigest: text().nullable(),
      writtenAt: instant().nullable(),
      lookedAt: instant(),
      state: text<GuidelineState>(),
      /** Since when it is in this state. */
      since: instant(),
      /** Why it is in this state, for operators; null if there is nothing to say. */
      says: text().nullable(),
      /** How many looks in a row had no answer. */
      failures: integer(),
    },
    { key: ['tool', 'project'] },
  ),
};
