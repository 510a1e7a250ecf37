import type { BudgetState, NotifiedBudgetState } from '../../domain/budget.ts';
import type { SourceKind } from '../../domain/install.ts';
import type { RunOutcome, RunTrigger } from '../../domain/run.ts';
import { absences, bigint, counter, flag, instant, integer, real, sealed, table, text } from '../columns.ts';
import { endpointSecretContext, replacedTokenContext, tokenContext } from '../seal-contexts.ts';

export const installs = {
  /** An install that was connected by command. It is in the database and not in the configuration. */
  connectedInstall: table(['install'], {
    install: text(),
    source: text<SourceKind>().optional(),
    token: sealed(tokenContext),
    tool: text(),
    /** A JSON list of patterns. */
    projects: text(),
    /** The id that the marketplace gave to the grant of the token. */
    grantId: text(),
    /** The organization that gave the grant; null if the marketplace did not say. */
    organizationId: text().nullable(),
    connectedAt: instant(),
  }),

  /** A webhook endpoint that delivers here, for an install from the configuration or from the database. */
  webhookEndpoint: table(['install', 'endpointId'], {
    install: text(),
    endpointId: text(),
    /** Null if it was made by hand and its secret is in the configuration. */
    secret: sealed(endpointSecretContext).nullable(),
    storedAt: instant(),
  }),

  /** The state of an install's webhook endpoint. */
  subscription: table(['install'], {
    install: text(),
    checkedAt: instant().nullable(),
    /** What the last check could not repair, in JSON. */
    trouble: text().nullable(),
    /** Since when there may be an endpoint whose secret is not stored; null if there is none. */
    creatingSince: instant().nullable(),
    /** When a delivery was last refused because no secret matched. */
    unmatchedAt: instant().nullable(),
    /** The last three times at which Gangway enabled it again, as a JSON list. */
    enabledAt: text().optional(),
  }),

  /** The readings of a whole install, and what waits for them. */
  installState: table(['install'], {
    install: text(),
    /** Until the install is read, nothing that was due before this is converged. */
    heldSince: instant().nullable(),
    /** Until the install is read, no removal on weaker evidence from before this is cleared. */
    removalsHeldSince: instant().nullable(),
    readWantedBy: text<RunTrigger>().nullable(),
    readBeganAt: instant().nullable(),
    /** When the last list of its active contracts that is merged into the evidence began. */
    activeListedAt: instant().nullable(),
  }),

  /** A link of an employer's own account: the people of the job work in the project. */
  jobLink: table(['install', 'linkId'], {
    install: text(),
    linkId: text(),
    jobId: text(),
    externalProjectId: text(),
  }),

  /** How far the updates feed of an account was read for an install. */
  feed: table(['install', 'grantId'], {
    install: text(),
    /** The account. Each has a feed of its own. */
    grantId: text(),
    /** Every event up to it is stored; null before the first. */
    cursor: text().nullable(),
    /** When the last successful reading began. */
    readAt: instant().nullable(),
  }),

  /** One reading of a whole install, and what was done in the tools because of it. */
  run: table(['id'], {
    id: counter(),
    install: text(),
    trigger: text<RunTrigger>(),
    beganAt: instant(),
    /** The last receipt before it. */
    afterReceipt: bigint(),
    /** When everything that was read was evidence; null before that. */
    readAt: instant().nullable(),
    endedAt: instant().nullable(),
    outcome: text<RunOutcome>().nullable(),
    contracts: integer().optional(),
    added: integer().optional(),
    removed: integer().optional(),
    held: integer().optional(),
    failed: integer().optional(),
    failure: text().nullable(),
  }),

  /** The token of an employer's account that replaces another one. */
  replacedToken: table(['digest'], {
    /** The SHA-256 of the configured or connected token. */
    digest: text(),
    token: sealed(replacedTokenContext),
    tokenId: text(),
    replacedId: text(),
  }),

  budget: table(['install', 'contractId'], {
    install: text(),
    contractId: text(),
    fundedVolume: real().nullable(),
    fundedAmountUsd: real().nullable(),
    consumedVolume: real().nullable(),
    remainingVolume: real().nullable(),
    consumedFraction: real().nullable(),
    /** Null until it is read. */
    state: text<BudgetState>().nullable(),
    /** When the first reading that found this state began. */
    stateSince: instant().nullable(),
    paymentType: text().nullable(),
    consumedSeconds: real().nullable(),
    consumedLabels: real().nullable(),
    consumedTasks: real().nullable(),
    lastUsageAt: instant('kept').nullable(),
    /** When the request for this answer began. */
    askedAt: instant().nullable(),
    /** Whether it is read regularly, which it is while the contract is active. */
    isWatched: flag().optional(),
    /** The latest `milestone.*` event that a reading has followed. */
    metEventAt: instant().nullable(),
    /** When the last request began, if the marketplace did not know the contract; otherwise null. */
    notFoundAt: instant().nullable(),
    /** The state in the last notice, when it was sent, and the funded volume at that time. */
    notifiedState: text<NotifiedBudgetState>().nullable(),
    notifiedAt: instant().nullable(),
    notifiedFundedVolume: real().nullable(),
  }),

  /** A payment that waits for a person at the marketplace. Its row is deleted when it no longer waits. */
  pendingPayment: table(['install', 'paymentId'], {
    install: text(),
    paymentId: text(),
    jobId: text().nullable(),
    amountUsd: real().nullable(),
    /** Where a person settles it. */
    url: text(),
    firstSeenAt: instant(),
    /** When the last reading that listed it began. */
    seenAt: instant(),
    /** When the later readings, which did not list it, began. */
    absences: absences().nullable(),
  }),
};
