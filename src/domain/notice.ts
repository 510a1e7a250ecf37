/**
 * What somebody is to be told of, wherever they want to be told. By ids alone: names and titles would
 * have to be found again by whoever is asked to forget them.
 */

/** What a channel may be for. */
export const noticeTopics = ['budgets', 'alerts'] as const;

export type NoticeTopic = (typeof noticeTopics)[number];

export type BudgetKind = 'budget.low' | 'budget.depleted' | 'budget.ok';

/** An alert by its kind: what an operator should look at. */
export type NoticeKind = BudgetKind | `alert.${string}`;

export type NewNotice = BudgetNotice | AlertNotice;

export interface AlertNotice {
  kind: `alert.${string}`;
  occurredAt: string;
  /** A sentence of ours. */
  message: string;
  /** Ids and names, by what they are of. */
  about: Record<string, string>;
}

export interface BudgetNotice {
  kind: BudgetKind;
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
