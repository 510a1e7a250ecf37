import type { Clearance, PlanItemOutcome, PlanState } from '../../domain/brake.ts';
import type { MembershipState } from '../../domain/membership.ts';
import type { RemovalCause } from '../../domain/standing.ts';
import { bigint, counter, flag, instant, integer, sealed, table, text } from '../columns.ts';
import { addressDigest, workEmailContext } from '../seal-contexts.ts';

export const memberships = {
  /** The queue of trainers whose memberships must be derived again. */
  derivation: table(['arrival'], {
    arrival: counter(),
    /** The install whose evidence queued them. */
    install: text().optional(),
    trainerId: text(),
    /** When the last evidence about them arrived; empty if they are queued for another reason. */
    evidenceAt: instant().optional(),
  }),

  membership: table(['id'], {
    id: counter(),
    /** Until when a call with an unknown outcome may still arrive; null after a later look. */
    lateUntil: instant('lease').nullable(),
    /** When a look first found the member gone without a call by Gangway; null once that is confirmed. */
    missedAt: instant().nullable(),
    tool: text(),
    groupId: text(),
    trainerId: text(),
    wanted: flag(),
    /** Raised whenever `wanted` changes. Decisions about an older generation are void. */
    generation: integer(),
    state: text<MembershipState>(),
    /** The tool's id of the member; null until it is known. */
    memberId: text().nullable(),
    /** The id of an account that was theirs and now has an address that is not theirs. Nobody knows whose it is. */
    doubtedId: text().nullable(),
    /** Whether an intent found the trainer absent before adding them. */
    isOurs: flag(),
    /** Who decided that the member stays; null if nobody has. Only an operator's release outlasts a new contract. */
    releasedBy: text<'operator' | 'retirement' | 'marketplace'>().nullable(),
    attempts: integer(),
    /** When to converge (again); null when wanted and found agree. */
    nextAttemptAt: instant().nullable(),
    leaseToken: text().nullable(),
    leasedUntil: instant('lease').nullable(),
    /** Whether a call that outlived its lease may have changed what the holder of the lease saw. */
    lookAgain: flag().optional(),
    failure: text().nullable(),
    updatedAt: instant(),
    /** The install whose brake counts it, and whose turn it takes in the queue of the tool. */
    install: text().optional(),
    cause: text<RemovalCause>().nullable(),
    /** When the brake decides about its removal; null if it has decided, or need not. */
    removeAfter: instant('grace').nullable(),
    /**
     * Since when the tool should show what is wanted: when the evidence was received, or when a removal became due. In
     * the future during a grace period; null once the tool has shown it.
     */
    unmetSince: instant('grace').nullable(),
    /** The generation whose removal the brake cleared or an operator approved. */
    clearedGeneration: integer().nullable(),
  }),

  /** The reasons of a membership when it was last derived. They tell the end of a contract from a new configuration. */
  reason: table(['membershipId', 'install', 'contractId', 'linkId'], {
    membershipId: bigint(),
    install: text(),
    contractId: text(),
    linkId: text(),
    /** When it was first derived. */
    recordedAt: instant(),
    /** Whether the install knew the address of the trainer. */
    isNamed: flag().optional(),
  }),

  /**
   * An address of the trainer of a membership, now or before, as the install gave it. Access that was given under an
   * address is removed under the same address.
   */
  membershipAddress: table(['id'], {
    id: counter(),
    membershipId: bigint(),
    install: text(),
    trainerId: text(),
    workEmail: sealed(workEmailContext, addressDigest),
    workEmailDigest: text(),
    workEmailDomain: text().nullable(),
    /** Whether it is the current address. */
    isCurrent: flag(),
    /** Since when there may be access under it: the first intent to add that found the trainer absent. */
    givenAt: instant().nullable(),
    /** When a later look found no access under it. */
    endedAt: instant().nullable(),
    /** Whether the tool had no account with this address at that intent; null if unknown. */
    wasAbsent: flag().nullable(),
  }),

  /** A login in a tool, by the tool's id. A login without a row is not ours. */
  account: table(['tool', 'accountId'], {
    tool: text(),
    accountId: text(),
    /** Whether Gangway made it. Only then may Gangway end, rename or activate it. */
    isOurs: flag(),
    seenAt: instant(),
    /** The trainer it belonged to when Gangway first saw it; null if unknown, or if there were several. */
    trainerId: text().nullable(),
    /** When the tool says it was made. A later time means another account with the same id. */
    madeAt: instant('kept').nullable(),
  }),

  /** A project that a trainer has left, while another project keeps them in the group. */
  leftProject: table(['membershipId', 'project'], {
    membershipId: bigint(),
    project: text(),
    /** When the trainer's assignments in the project may be ended. */
    dueAt: instant('grace'),
    endedAt: instant().nullable(),
  }),

  /** A fixed set of removals that the brake holds until an operator decides. */
  plan: table(['id'], {
    id: counter(),
    install: text(),
    state: text<PlanState>(),
    createdAt: instant(),
    decidedAt: instant().nullable(),
  }),

  planItem: table(['planId', 'membershipId'], {
    planId: bigint(),
    membershipId: bigint(),
    generation: integer(),
    cause: text<RemovalCause>(),
    /** Null until it is decided. */
    outcome: text<PlanItemOutcome>().nullable(),
  }),

  /** A removal that was cleared, and why. The brake counts these. */
  removal: table(['id'], {
    id: counter(),
    install: text(),
    membershipId: bigint(),
    generation: integer(),
    cause: text<RemovalCause>(),
    clearance: text<Clearance>(),
    clearedAt: instant(),
  }),

  /** How many receipts say `removed`, counted when they are written. */
  removalTotal: table(['install'], {
    install: text(),
    removed: bigint(),
  }),

  /** A due removal that waits, or has waited, for readings. */
  awaitedReading: table(['membershipId'], {
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
    /** When the work was reported, or when nothing waited for the report any more. */
    reportedAt: instant().nullable(),
    /** When to try the report again after a failure. */
    reportAfter: instant().nullable(),
  }),

  /** A scope whose work must be read before a removal. */
  awaitedScope: table(['membershipId', 'tool', 'scope'], {
    membershipId: bigint(),
    tool: text(),
    scope: text(),
  }),
};
