import type { Clearance, PlanItemOutcome, PlanState } from '../../domain/brake.ts';
import type { RemovalCause } from '../../domain/standing.ts';

import { bigint, counter, flag, instant, integer, table, text } from '../columns.ts';

export const removals = {
  /** Removals that the brake holds: a fixed set that an operator decides about. */
  plan: table(
    {
      id: counter(),
      install: text(),
      state: text<PlanState>(),
      createdAt: instant(),
      decidedAt: instant().nullable(),
    },
    {
      indexes: {
        byInstall: ['install', 'state'],
        open: { on: ['createdAt'], where: `state = 'open'` },
      },
    },
  ),

  planItem: table(
    {
      planId: bigint().references('plan'),
      membershipId: bigint().references('membership'),
      generation: integer(),
      cause: text<RemovalCause>(),
      /** The decision about this removal; null while there is none. */
      outcome: text<PlanItemOutcome>().nullable(),
    },
    { key: ['planId', 'membershipId'] },
  ),

  /** Every removal that was cleared, and why. The brake counts these. */
  removal: table(
    {
      id: counter(),
      install: text(),
      membershipId: bigint().references('membership'),
      generation: integer(),
      cause: text<RemovalCause>(),
      clearance: text<Clearance>(),
      clearedAt: instant(),
    },
    {
      indexes: {
        byInstall: ['install', 'clearedAt'],
      },
    },
  ),

  /** The number of receipts with `removed`, counted when they are written. */
  removalTotal: table(
    {
      install: text(),
      removed: bigint(),
    },
    { key: ['install'] },
  ),

  /** A removal that was due and waits for the marketplace to be asked. */
  awaitedReading: table(
    {
      membershipId: bigint(),
      generation: integer(),
      /** Whether an explicit end is the reason. */
      isExplicit: flag(),
      since: instant(),
      /** When it began to wait for lists of active contracts; null while something else is waited for. */
      listsWaitedSince: instant().nullable(),
    },
    { key: ['membershipId'] },
  ),

  /** A removal that waits, or has waited, until the work in its scopes is read. */
  finalReading: table(
    {
      membershipId: bigint(),
      generation: integer(),
      wantedAt: instant(),
      /** Whether the wait ended without a reading. */
      isUnread: flag().default(false),
      /** When the work was reported, or when nothing waits for the report any more. */
      reportedAt: instant().nullable(),
      /** When to try the report again after a failure. */
      reportAfter: instant().nullable(),
    },
    {
      key: ['membershipId'],
      indexes: {
        unreported: { on: ['wantedAt'], where: 'reported_at is null' },
      },
    },
  ),

  /** A scope whose work must be read before a removal. */
  finalReadingScope: table(
    {
      membershipId: bigint(),
      tool: text(),
      scope: text(),
    },
    { key: ['membershipId', 'tool', 'scope'] },
  ),
};
