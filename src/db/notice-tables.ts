import type { Generated } from 'kysely';
import type { DispatchState, NoticeKind } from '../domain/notice.ts';

/** Tables of `tables.ts` that are about telling people outside. Ids and numbers only. */

export interface NoticeTables {
  notice: NoticeTable;
  dispatch: DispatchTable;
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
  /** JSON of what an alert said; null where it was no alert. */
  alert: Generated<string | null>;
  /** The same for alerts that say the same of the same. */
  subjectDigest: Generated<string | null>;
}

/** A notice on its way through one channel. */
interface DispatchTable {
  id: Generated<number>;
  noticeId: number;
  channel: string;
  state: Generated<DispatchState>;
  /** Of the message it goes out with, alone or with others, from the first try on. */
  messageId: string | null;
  attempts: Generated<number>;
  /** When to try (again), or when whoever is at it has to be done; null once it is settled. */
  nextAttemptAt: string | null;
  leaseToken: string | null;
  failure: string | null;
  createdAt: string;
  settledAt: string | null;
}
