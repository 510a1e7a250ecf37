import type { BudgetState, NotifiedBudgetState } from '../../domain/budget.ts';
import { absences, instant, integer, real, table, text } from '../columns.ts';

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
      /** Null while the contract is not active. */
      nextReadAt: instant().nullable(),
      /** The latest `milestone.*` event for which a reading was made. */
      metEventAt: instant().nullable(),
      /** When the last request began, if its answer was that there is no such contract; otherwise null. */
      notFoundAt: instant().nullable(),
      attempts: integer().default(0),
      failure: text().nullable(),
      /** The state of the last notice, when it was given, and the funded volume at that time. */
      notifiedState: text<NotifiedBudgetState>().nullable(),
      notifiedAt: instant().nullable(),
      notifiedFundedVolume: real().nullable(),
    },
    {
      key: ['install', 'contractId'],
      indexes: {
        due: { on: ['install', 'nextReadAt'], where: 'next_read_at is not null' },
        byState: { on: ['install', 'state'], where: 'next_read_at is not null' },
        failing: { on: ['install'], where: 'attempts > 0 or not_found_at is not null' },
      },
    },
  ),

  /** How reading an install's budgets goes, and until when it pauses. */
  budgetReader: table(
    {
      install: text(),
      restUntil: instant().nullable(),
      attempts: integer().default(0),
      failure: text().nullable(),
    },
    { key: ['install'] },
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

  /** When the payments that wait at an install are read next. */
  paymentReader: table(
    {
      install: text(),
      nextReadAt: instant(),
      /** How many events have asked for a reading since the last. */
      asks: integer().default(0),
      /** How many readings in a row have failed. */
      attempts: integer().default(0),
      failure: text().nullable(),
    },
    { key: ['install'] },
  ),
};
