/** The worst first: it does not work; it waits for a decision; it waits for somebody's act; it is worth knowing. */
export const severities = ['down', 'held', 'waiting', 'notice'] as const;
export type Severity = (typeof severities)[number];

/** Names in angle brackets are filled in, and of `(one|several)` the count chooses. Commands are in backticks. */
export interface TroubleRule {
  severity: Severity;
  means: string;
  says: string;
  action: string;
  page?: string;
  /** Left out where no notice is sent of it: then it is only listed. */
  notice?: NoticeRule;
}

/** How notices tell that it stands, and that it is over. */
export interface NoticeRule {
  /** So long after it began. */
  afterMs?: number;
  /** It may come and go within minutes: after it was over, it is not announced anew for so long. */
  quietMs?: number;
  /** Whether notices of another kind announce it, and its end. */
  isNoticedElsewhere?: boolean;
}
