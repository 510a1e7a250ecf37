/** The topics of notices, from which a channel chooses. */
export const noticeTopics = ['budgets', 'alerts'] as const;

export type NoticeTopic = (typeof noticeTopics)[number];

export type BudgetKind = 'budget.low' | 'budget.depleted' | 'budget.ok';

export type NoticeKind = BudgetKind | `alert.${string}`;

/** Notices contain only ids: names and titles would have to be deleted when a person is forgotten. */
export type NewNotice = BudgetNotice | AlertNotice;

export interface AlertNotice {
  kind: `alert.${string}`;
  /** Whether it says that the alert is over, not that it was raised. */
  isOver: boolean;
  /** Whether it reminds of an alert that is not over. */
  isRepeat: boolean;
  /** Whether the alert ended when it was raised, so that no notice says that it is over. */
  endsAtOnce: boolean;
  /** When it was raised. */
  since: string;
  occurredAt: string;
  /** One sentence. */
  message: string;
  /** Ids and names, by what they identify; and `url`, where a person can act (http or https). */
  about: Record<string, string>;
}

export interface BudgetNotice {
  kind: BudgetKind;
  install: string;
  contractId: string;
  occurredAt: string;
  /** Whether it reminds of an earlier notice. */
  isRepeat: boolean;
  budget: BudgetFacts;
}

/** The budget of a contract (spec: platform-api.md section 4). Null means unknown. */
export interface BudgetFacts {
  fundedVolume: number | null;
  fundedAmountUsd: number | null;
  consumedVolume: number | null;
  remainingVolume: number | null;
  /** A fraction of the funding: 0.8 is 80 %. */
  consumedFraction: number | null;
}

/** The states of a notice in one channel. `failed` is final. */
export const dispatchStates = ['waiting', 'sent', 'failed'] as const;

export type DispatchState = (typeof dispatchStates)[number];
