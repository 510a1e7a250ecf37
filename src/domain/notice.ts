/**
 * What Gangway notifies people of, in any channel. Notices contain ids only: names and titles would have to be deleted
 * again when a person must be forgotten.
 */

/** The topics that a channel may choose. */
export const noticeTopics = ['budgets', 'alerts'] as const;

export type NoticeTopic = (typeof noticeTopics)[number];

export type BudgetKind = 'budget.low' | 'budget.depleted' | 'budget.ok';

/** The kind of an alert that an operator should look at. */
export type NoticeKind = BudgetKind | `alert.${string}`;

export type NewNotice = BudgetNotice | AlertNotice;

export interface AlertNotice {
  kind: `alert.${string}`;
  /** Whether it says that the alert is over; otherwise that it was raised. */
  isOver: boolean;
  /** Whether this is a reminder of an alert that still stands. */
  isRepeat: boolean;
  /** Whether it was over as soon as it was raised: then no notice says that it is over. */
  endsAtOnce: boolean;
  /** When it was raised. */
  since: string;
  occurredAt: string;
  /** A sentence of Gangway's. */
  message: string;
  /** Ids and names, by what they identify; and as `url` where a person acts, http or https. */
  about: Record<string, string>;
}

export interface BudgetNotice {
  kind: BudgetKind;
  install: string;
  contractId: string;
  occurredAt: string;
  /** Whether this is a reminder of an earlier notice. */
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

/** How far a notice has come in one channel. `failed` is final too. */
export const dispatchStates = ['waiting', 'sent', 'failed'] as const;

export type DispatchState = (typeof dispatchStates)[number];
