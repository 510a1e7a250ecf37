import type { BudgetState, NotifiedBudgetState } from '../../domain/budget.ts';
import { absences, flag, instant, real, table, text } from '../columns.ts';

export const budget = {
  budget: table(
    {
      install: text(),
      contractId: text(),
      fundedVolume: real().nullable(),
      fundedAmountUsd: real().nullable(),
      consumedVolume: real().nullable(),
      remainingVolume: real().nullable(),
      consumedFraction: real().nullable(),
      /** Null until it is read. */
      state: text<BudgetState>().nullable(),
      /** When the first reading began that found it in this state. */
      stateSince: instant().nullable(),
      paymentType: text().nullable(),
      consumedSeconds: real().nullable(),
      consumedLabels: real().nullable(),
      consumedTasks: real().nullable(),
      lastUsageAt: instant('kept').nullable(),
      /** When the request began that was answered with this. */
      askedAt: instant().nullable(),
      /** Whether it is read from time to time: while the contract is active. */
      isWatched: flag().default(false),
      /** The latest `milestone.*` event for which a reading was made. */
      metEventAt: instant().nullable(),
      /** When the last request began, if its answer was that there is no such contract; otherwise null. */
      notFoundAt: instant().nullable(),
      /** The state of the last notice, when it was given, and the funded volume at that time. */
      notifiedState: text<NotifiedBudgetState>().nullable(),
      notifiedAt: instant().nullable(),
      notifiedFundedVolume: real().nullable(),
    },
    {
      key: ['install', 'contractId'],
      indexes: {
        byState: { on: ['install', 'state'], where: 'is_watched = 1' },
        unknown: { on: ['install'], where: 'not_found_at is not null' },
      },
    },
  ),

  /** A payment that waits for a person at the marketplace. The row goes when it no longer waits. */
  pendingPayment: table(
    {
      install: text(),
      paymentId: text(),
      jobId: text().nullable(),
      amountUsd: real().nullable(),
      /** Where a person settles it. */
      url: text(),
      firstSeenAt: instant(),
      /** When the last reading began that listed it. */
      seenAt: instant(),
      /** When the readings began that did not list it since. */
      absences: absences().nullable(),
    },
    { key: ['install', 'paymentId'] },
  ),
};
