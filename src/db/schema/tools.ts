import type { ErrorCode } from '../../domain/errors.ts';
import type { DeliveredBy, InvitationKind } from '../../domain/invitation.ts';
import type { ReceiptOutcome, ToolOperation } from '../../domain/membership.ts';
import { bigint, counter, flag, instant, integer, sealed, table, text } from '../columns.ts';
import { addressIn, credentialContext, driftFindingContext, invitationContext } from '../seal-contexts.ts';

export const tools = {
  installBinding: table(
    {
      install: text(),
      grantId: text(),
      organizationId: text().nullable(),
      appId: text().nullable(),
    },
    { key: ['install'] },
  ),

  toolBinding: table(
    {
      tool: text(),
      identity: text().nullable(),
      location: text().nullable(),
    },
    { key: ['tool'] },
  ),

  /** A tool that fails its check, so that every process leaves it alone. */
  toolTrouble: table(
    {
      tool: text(),
      errorCode: text<ErrorCode>(),
      message: text(),
      since: instant(),
      asksAgainAt: instant(),
    },
    { key: ['tool'] },
  ),

  /** A call that is about to change a tool, written first so that its purpose is known after a crash. */
  intent: table(
    {
      id: counter(),
      membershipId: bigint().references('membership'),
      generation: integer(),
      operation: text<ToolOperation>(),
      /** Whether the look before the call found the member. */
      wasFound: flag(),
      createdAt: instant(),
      /** The generated password of the login that the call makes; null once the call is settled. */
      credential: sealed(credentialContext).nullable(),
    },
    {
      indexes: {
        byMembership: ['membershipId'],
      },
    },
  ),

  /** What was done in a tool, and its outcome, without bodies and addresses. */
  receipt: table(
    {
      id: counter(),
      membershipId: bigint().references('membership'),
      generation: integer(),
      operation: text<ToolOperation>(),
      outcome: text<ReceiptOutcome>(),
      toolStatus: integer().nullable(),
      message: text().nullable(),
      createdAt: instant(),
      /** Milliseconds from when this was first wanted; null if it is not done yet, or was done before. */
      metAfterMs: bigint().nullable(),
    },
    {
      indexes: {
        byMembership: ['membershipId'],
        met: { on: ['id'], where: 'met_after_ms is not null' },
      },
    },
  ),

  /** How a member without a login gets in. */
  invitation: table(
    {
      membershipId: bigint(),
      kind: text<InvitationKind>(),
      /** Null once it is delivered. */
      content: sealed(invitationContext).nullable(),
      createdAt: instant('kept'),
      expiresAt: instant('kept').nullable(),
      deliveredAt: instant().nullable(),
      deliveredBy: text<DeliveredBy>().nullable(),
      /** Whether a new invitation is wanted. */
      isRenewalWanted: flag().default(false),
      /** How often mailing it was tried. */
      attempts: integer().default(0),
      nextAttemptAt: instant('lease').nullable(),
      failure: text().nullable(),
    },
    {
      key: ['membershipId'],
      indexes: {
        due: ['nextAttemptAt'],
        undelivered: { on: ['createdAt'], where: 'delivered_at is null' },
      },
    },
  ),

  /** An invitation that was, or may have been, mailed in the last day. */
  mailed: table(
    {
      membershipId: bigint(),
      /** Tells the invitations of a membership apart. */
      invitedAt: instant('kept'),
      install: text(),
      addressDigest: text(),
      mailedAt: instant(),
    },
    {
      key: ['membershipId', 'invitedAt'],
      indexes: {
        to: ['install', 'addressDigest', 'mailedAt'],
      },
    },
  ),

  /** The shared invitation link of a group, and when it is to be reset. */
  linkReset: table(
    {
      tool: text(),
      groupId: text(),
      /** How often a reset was requested. */
      requests: integer(),
      /** When it was last reset. */
      resetAt: instant().nullable(),
      /** Null if no reset is due. */
      nextAttemptAt: instant().nullable(),
      attempts: integer().default(0),
    },
    { key: ['tool', 'groupId'] },
  ),

  driftListing: table(
    {
      tool: text(),
      groupId: text(),
      /** The install in whose reading it was listed. */
      install: text(),
      listedAt: instant(),
      /** How many members the tool listed. */
      listed: integer(),
      /** How many findings were too many to keep. */
      unkept: integer(),
    },
    { key: ['tool', 'groupId'] },
  ),

  /** A member that is not as it should be. */
  driftFinding: table(
    {
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
    },
    {
      key: ['id'],
      indexes: {
        ofGroup: ['tool', 'groupId', 'kind', 'id'],
        address: ['addressDigest'],
      },
    },
  ),
};
