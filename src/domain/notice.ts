/**
 * What somebody is to be told of, wherever they want to be told. By ids alone: names and titles would
 * have to be found again by whoever is asked to forget them.
 */

export const noticeKinds = ['budget.low', 'budget.depleted', 'budget.ok'] as const;

export type NoticeKind = (typeof noticeKinds)[number];

export interface NewNotice {
  kind: NoticeKind;
  install: string;
  contractId: string;
  occurredAt: string;
  /** Whether it was told before and still is so. */
  isRepeat: boolean;
  budget: BudgetFacts;
}

/** What there was of a contract's budget (spec: platform-api.md section 4). Null is not known. */
export interface BudgetFacts {
  fundedVolume: number | null;
  fundedAmountUsd: number | null;
  consumedVolume: number | null;
  remainingVolume: number | null;
  /** Of what was funded: 0.8 is 80 %. */
  consumedFraction: number | null;
}
