import type { ErrorCode } from '../../domain/errors.ts';
import type { DeliveredBy, InvitationKind } from '../../domain/invitation.ts';
import type { ReceiptOutcome, ToolOperation } from '../../domain/membership.ts';
import { bigint, counter, flag, instant, integer, sealed, table, text } from '../columns.ts';
import { addressIn, credentialContext, driftFindingContext, invitationContext } from '../seal-contexts.ts';

export const tools = {
  installBinding: table(['install'], {
    install: text(),
    grantId: text(),
    organizationId: text().nullable(),
    appId: text().nullable(),
  }),

  toolBinding: table(['tool'], {
    tool: text(),
    identity: text().nullable(),
    location: text().nullable(),
  }),

  /** A tool that fails its check, so that every process leaves it alone. */
  toolTrouble: table(['tool'], {
    tool: text(),
    errorCode: text<ErrorCode>(),
    message: text(),
    since: instant(),
    asksAgainAt: instant(),
  }),

  /** A call that is about to change a tool, written first so that its purpose is known after a crash. */
  intent: table(['id'], {
    id: counter(),
    membershipId: bigint(),
    generation: integer(),
    operation: text<ToolOperation>(),
    /** Whether the look before the call found the member. */
    wasFound: flag(),
    createdAt: instant(),
    /** The generated password of the login that the call makes; null once the call is settled. */
    credential: sealed(credentialContext).nullable(),
  }),

  /** What was done in a tool, and its outcome, without bodies and addresses. */
  receipt: table(['id'], {
    id: counter(),
    membershipId: bigint(),
    generation: integer(),
    operation: text<ToolOperation>(),
    outcome: text<ReceiptOutcome>(),
    toolStatus: integer().nullable(),
    message: text().nullable(),
    createdAt: instant(),
    /** Milliseconds from when this was first wanted; null if it is not done yet, or was done before. */
    metAfterMs: bigint().nullable(),
  }),

  /** How a member without a login gets in. */
  invitation: table(['membershipId'], {
    membershipId: bigint(),
    kind: text<InvitationKind>(),
    /** Null once it is delivered. */
    content: sealed(invitationContext).nullable(),
    createdAt: instant('kept'),
    expiresAt: instant('kept').nullable(),
    deliveredAt: instant().nullable(),
    deliveredBy: text<DeliveredBy>().nullable(),
    /** Whether a new invitation is wanted. */
    isRenewalWanted: flag().optional(),
    /** How often mailing it was tried. */
    attempts: integer().optional(),
    nextAttemptAt: instant('lease').nullable(),
    failure: text().nullable(),
  }),

  /** An invitation that was, or may have been, mailed in the last day. */
  mailed: table(['membershipId', 'invitedAt'], {
    membershipId: bigint(),
    /** Tells the invitations of a membership apart. */
    invitedAt: instant('kept'),
    install: text(),
    addressDigest: text(),
    mailedAt: instant(),
  }),

  /** The shared invitation link of a group, and when it is to be reset. */
  linkReset: table(['tool', 'groupId'], {
    tool: text(),
    groupId: text(),
    /** How often a reset was requested. */
    requests: integer(),
    /** When it was last reset. */
    resetAt: instant().nullable(),
    /** Null if no reset is due. */
    nextAttemptAt: instant().nullable(),
    attempts: integer().optional(),
  }),

  driftListing: table(['tool', 'groupId'], {
    tool: text(),
    groupId: text(),
    /** The install in whose reading it was listed. */
    install: text(),
    listedAt: instant(),
    /** How many members the tool listed. */
    listed: integer(),
    /** How many findings were too many to keep. */
    unkept: integer(),
  }),

  /** A member that is not as it should be. */
  driftFinding: table(['id'], {
    /** Random. */
    id: text(),
    tool: text(),
    groupId: text(),
    kind: text(),
    /** Null for the account of no known trainer. */
    membershipId: bigint().nullable(),
    /** When the first of the listings that show it without a break began. */
    since: instant(),
    /** The account as the tool shows it, in JSON; null if there is a membership. */
    content: sealed(driftFindingContext, { column: 'addressDigest', textOf: addressIn }).nullable(),
    /** The digest of its address, by which it is found when a person is forgotten. */
    addressDigest: text().nullable(),
  }),
};
