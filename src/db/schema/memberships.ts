import { sql } from 'kysely';
import type { Clearance, PlanItemOutcome, PlanState } from '../../domain/brake.ts';
import type { MembershipState } from '../../domain/membership.ts';
import type { RemovalCause } from '../../domain/standing.ts';
import { bigint, counter, flag, instant, integer, sealed, table, text } from '../columns.ts';
import { addressDigest, workEmailContext } from '../seal-contexts.ts';

export const memberships = {
  /** The queue of trainers whose memberships are to be derived from the evidence. */
  derivation: table(
    {
      /** Counts up. */
      arrival: counter(),
      /** The install whose evidence queued them. */
      install: text().default(''),
      trainerId: text(),
      /** When the last evidence about them came; empty if they are queued for another reason. */
      evidenceAt: instant().default(''),
    },
    {
      unique: ['trainerId', 'install'],
      indexes: {
        turn: ['install', 'arrival'],
      },
    },
  ),

  membership: table(
    {
      id: counter(),
      /** Until when a call with an unknown outcome may still arrive; null after a later look. */
      lateUntil: instant('lease').nullable(),
      /** When a look found a member gone without a call by Gangway; null when that is confirmed. */
      missedAt: instant().nullable(),
      tool: text(),
      groupId: text(),
      trainerId: text(),
      wanted: flag(),
      /** Raised whenever `wanted` changes. Decisions for an older generation do not count any more. */
      generation: integer(),
      state: text<MembershipState>(),
      /** The tool's id of the member; null until it is known. */
      memberId: text().nullable(),
      /** An id that was theirs, but whose account now has an address that is not theirs. It is unknown whose it is. */
      doubtedId: text().nullable(),
      /** Whether an intent found the trainer absent before adding them. */
      isOurs: flag(),
      /** Who decided that the member stays; null until then. Only an operator's release outlasts a new contract. */
      releasedBy: text<'operator' | 'retirement' | 'marketplace'>().nullable(),
      attempts: integer(),
      /** When to converge (again); null when wanted and found agree. */
      nextAttemptAt: instant().nullable(),
      leaseToken: text().nullable(),
      leasedUntil: instant('lease').nullable(),
      /** Whether a call that outlived its lease may have changed what the holder of the lease saw. */
      lookAgain: flag().default(false),
      failure: text().nullable(),
      updatedAt: instant(),
      /** The install whose brake counts it, and in whose turn it is converged. */
      install: text().default(''),
      cause: text<RemovalCause>().nullable(),
      /** When the brake is asked about its removal; null if it was asked, or need not be. */
      removeAfter: instant('grace').nullable(),
      /**
       * Since when the tool should show what is wanted: when what says so was received, or, for a removal, when it became
       * due; null once the tool showed it. In the future while a grace period runs.
       */
      unmetSince: instant('grace').nullable(),
      /** The span of the delivery that decided what is wanted; null if none did, or there is no trace. */
      /** The generation whose removal the brake cleared or an operator approved. */
      clearedGeneration: integer().nullable(),
    },
    {
      indexes: {
        bySeat: ['trainerId', 'tool', 'groupId'],
        byGroup: ['tool', 'groupId'],
        byInstall: ['install', 'state'],
        byAccount: { on: ['tool', 'memberId'], where: 'member_id is not null' },
        due: { on: ['tool', 'install', 'nextAttemptAt'], where: 'next_attempt_at is not null' },
        toRemove: { on: ['install', 'removeAfter'], where: 'remove_after is not null' },
        orphaned: { on: ['id'], where: `state = 'orphaned'` },
        unconfirmed: { on: ['install'], where: 'late_until is not null or missed_at is not null' },
        unmet: { on: ['wanted', 'state', 'unmetSince'], where: 'unmet_since is not null' },
        byState: ['state', 'tool', 'groupId', 'trainerId', 'id'],
        leaving: {
          on: [sql`case state when 'held' then 'held' else coalesce(remove_after, '') end`, 'id'],
          where: `state || '' in ('removing', 'held')`,
        },
        undecided: {
          on: ['state', 'wanted'],
          where: `is_ours = 0 and released_by is null and state in ('active', 'invited', 'released')`,
        },
      },
    },
  ),

  /** The reasons of a membership when it was derived. They tell the end of a contract from a new configuration. */
  reason: table(
    {
      membershipId: bigint().references('membership'),
      install: text(),
      contractId: text(),
      linkId: text(),
      /** When it was first derived. */
      recordedAt: instant(),
      /** Whether the install knew the address of the trainer. */
      isNamed: flag().default(true),
    },
    {
      key: ['membershipId', 'install', 'contractId', 'linkId'],
      indexes: {
        ofContract: ['install', 'contractId'],
      },
    },
  ),

  /**
   * An address that the trainer of a membership has or had, as the install gave it, encrypted. Access
   * that was given under an address is removed under the same address.
   */
  membershipAddress: table(
    {
      id: counter(),
      membershipId: bigint().references('membership'),
      install: text(),
      trainerId: text(),
      workEmail: sealed(workEmailContext, addressDigest),
      workEmailDigest: text(),
      workEmailDomain: text().nullable(),
      /** Whether it is the current address. */
      isCurrent: flag(),
      /** Since when access may exist under it: the first intent to add that found the trainer absent. */
      givenAt: instant().nullable(),
      /** When a later look found that the access under it has ended. */
      endedAt: instant().nullable(),
      /** Whether that intent found no account with this address in the whole tool; null if unknown. */
      wasAbsent: flag().nullable(),
    },
    {
      indexes: {
        byMembership: ['membershipId'],
        byDigest: ['workEmailDigest'],
      },
    },
  ),

  /** A login in a tool, by the tool's id. A login without a row is not known to be ours. */
  account: table(
    {
      tool: text(),
      accountId: text(),
      /** Whether Gangway made it. Only then it may be ended, renamed or activated. */
      isOurs: flag(),
      seenAt: instant(),
      /** The trainer that it belonged to when it became known. Null if unknown, or if there are several. */
      trainerId: text().nullable(),
      /** When it was made, as the tool says. A later time means another account with the same id. */
      madeAt: instant('kept').nullable(),
    },
    { key: ['tool', 'accountId'] },
  ),

  /** A project that a trainer has left, while another project keeps them in its group. */
  leftProject: table(
    {
      membershipId: bigint(),
      project: text(),
      /** When the trainer's assignments in the project may be ended. */
      dueAt: instant('grace'),
      endedAt: instant().nullable(),
    },
    { key: ['membershipId', 'project'] },
  ),
};

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

  /** A removal that was due and waits, or has waited, for readings. */
  awaitedReading: table(
    {
      membershipId: bigint(),
      generation: integer(),
      /** Whether an explicit end is the reason. */
      isExplicit: flag(),
      /** Since when it waits, or has waited, for readings of installs. */
      installsSince: instant().nullable(),
      /** The same for readings of its work. */
      workSince: instant().nullable(),
      /** The same for lists of active contracts. */
      listsSince: instant().nullable(),
      /** When the work was reported, or when nothing waits for the report any more. */
      reportedAt: instant().nullable(),
      /** When to try the report again after a failure. */
      reportAfter: instant().nullable(),
    },
    {
      key: ['membershipId'],
      indexes: {
        unreported: { on: ['workSince'], where: 'work_since is not null and reported_at is null' },
      },
    },
  ),

  /** A scope whose work must be read before a removal. */
  awaitedScope: table(
    {
      membershipId: bigint(),
      tool: text(),
      scope: text(),
    },
    { key: ['membershipId', 'tool', 'scope'] },
  ),
};
