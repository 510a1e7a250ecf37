/** The worst first: it does not work; it waits for a decision; it waits for somebody to act; it is worth knowing. */
export const severities = ['down', 'held', 'waiting', 'notice'] as const;
export type Severity = (typeof severities)[number];

/** Names in angle brackets are filled in, and of `(one|several)` the count chooses. Commands are in backticks. */
export interface TroubleRule {
  severity: Severity;
  means: string;
  says: string;
  action: string;
  page?: string;
  /** Left out if no notice is sent about it. Then it is only listed. */
  notice?: NoticeRule;
}

/** How notices announce it and its end. */
export interface NoticeRule {
  /** How long after its beginning it is announced. */
  afterMs?: number;
  /** How long after its end it is not announced again, because it may come and go within minutes. */
  quietMs?: number;
  /** Whether notices of another kind announce it, and its end. */
  isNoticedElsewhere?: boolean;
}
