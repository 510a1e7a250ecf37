import { AppError } from '../domain/errors.ts';
import type {
  Budget,
  Contract,
  CreatedEndpoint,
  CreatedToken,
  Endpoint,
  EndpointChanges,
  Grant,
  Link,
  NewEndpoint,
  NewToken,
  Participant,
  PendingPayment,
  Publication,
  TokenRecord,
  UsageAnswer,
} from './record-schema.ts';

export type { Budget, Contract, Grant, Link, Participant, UsageAnswer };

/**
 * The port for sources: what tells who is hired for which project. A source is an account at the
 * marketplace, as one install uses it. Every failure but a stop is an `AppError`, and none is an empty list. No request
 * with the token of the install follows a redirect. An optional member is a capability: callers look
 * whether it is there, and never at the kind of a source.
 */

/** The operations that evidence is read with. They change nothing. */
export interface SourceReader {
  /**
   * The grant that the token belongs to.
   *
   * @throws AppError `conflict`, as all operations do, if the grant is not of the install's customer
   */
  readGrant(signal: AbortSignal): Promise<Grant>;
  /** All links of the install. */
  listLinks(signal: AbortSignal): Promise<Link[]>;
  /** @throws AppError `not_found` if there is no such link */
  readLink(linkId: string, signal: AbortSignal): Promise<Link>;
  listContracts(filter: ContractFilter, signal: AbortSignal): Promise<ContractPage>;
  /** @throws AppError `not_found` if the contract is unknown or no longer linked */
  listParticipants(contractId: string, signal: AbortSignal): Promise<Participant[]>;
}

/**
 * All operations of a source. Calls that may be repeated are tried a few times while the marketplace is
 * `unavailable`. If one call is `rate_limited`, all wait.
 */
export interface Source extends SourceReader, Partial<TokenCalls> {
  /** What the token must be allowed to do. */
  readonly neededScopes: readonly NeededScope[];
  /** What it may also be allowed to do. Only if the operator chooses the scopes of the token. */
  readonly optionalScopes?: OptionalScopes;
  readonly remedies: Remedies;
  /** Whether a contract may end without an event. Then it is read often, whatever was delivered. */
  readonly hasSilentEnds: boolean;

  /**
   * It may be repeated: a project is linked once, and if an earlier answer was lost, its link is found.
   *
   * @throws AppError `conflict` if the project is linked already, or if there are too many links;
   * `not_found` if the customer has no such job
   */
  createLink?(wanted: NewLink, signal: AbortSignal): Promise<Link>;
  /** For good. @throws AppError `not_found` if there is no such link */
  deleteLink?(linkId: string, signal: AbortSignal): Promise<void>;

  /** @throws AppError `not_found` if the contract is unknown or no longer linked */
  readBudget(contractId: string, signal: AbortSignal): Promise<Budget>;
  /**
   * The totals replace what was reported before, so it may be repeated. All entries are taken, or none.
   *
   * @throws AppError `invalid` if an entry is refused, `conflict` if the contract has no trainer,
   * `not_found` if the contract is unknown or no longer linked
   */
  reportUsage?(
    contractId: string,
    entries: readonly UsageEntry[],
    signal: AbortSignal,
    notes?: CallNotes,
  ): Promise<UsageAnswer>;

  /**
   * What each of these jobs has published for its trainers, by the id of the job. A job without a publication is not in
   * it. Only publications are read: what is not published is never in it.
   */
  readPublications?(jobIds: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, Publication>>;

  /**
   * A page of what has happened, oldest first. Types that the token may not read are not in it.
   *
   * @param cursor of the page before; null for the first event that there is
   * @throws AppError `invalid` if the cursor is refused
   */
  readUpdates?(cursor: string | null, signal: AbortSignal): Promise<UpdatesPage>;

  /**
   * Ends a contract at the marketplace, or asks for it. It may be repeated: a pending approval is answered again.
   *
   * @returns the approval that a person must confirm; null if the contract has ended, now or before
   * @throws AppError `forbidden` if the token, the account or a feature that is off does not allow it, `not_found`
   */
  endContract?(contractId: string, signal: AbortSignal): Promise<EndApproval | null>;
  /** @throws AppError `not_found` */
  readApproval?(approvalId: string, signal: AbortSignal): Promise<EndApproval>;

  /**
   * The payments on the linked jobs, and on no job, that wait for a person of the account.
   *
   * @throws AppError `unavailable` if the list is incomplete
   */
  listPendingPayments?(signal: AbortSignal): Promise<PendingPayment[]>;

  /** The events to subscribe an endpoint to: all that the token may hear of. */
  listEventTypes(signal: AbortSignal): Promise<readonly string[]>;
  /** All webhook endpoints of the install, or of the account, which others may use too. */
  listEndpoints(signal: AbortSignal): Promise<Endpoint[]>;
  /** @throws AppError `not_found` if there is no such endpoint */
  readEndpoint(endpointId: string, signal: AbortSignal): Promise<Endpoint>;
  /**
   * It must not be repeated: after a failure without a `status` below 500 an endpoint may exist whose
   * secret is lost. List the endpoints before the next attempt.
   *
   * @throws AppError `conflict` if there are too many endpoints
   */
  createEndpoint(wanted: NewEndpoint, signal: AbortSignal): Promise<CreatedEndpoint>;
  /**
   * Changes the given fields; `ACTIVE` enables it again. The secret never changes. Without it an endpoint
   * is replaced.
   */
  updateEndpoint?(endpointId: string, changes: EndpointChanges, signal: AbortSignal): Promise<Endpoint>;
  /** Its pending deliveries are lost. @throws AppError `not_found` if there is no such endpoint */
  deleteEndpoint(endpointId: string, signal: AbortSignal): Promise<void>;
  /**
   * Requests all failed deliveries, or one whatever its status. They come within some five minutes.
   * @returns how many; null if the marketplace did not say
   */
  redeliver?(endpointId: string, deliveryId: string | undefined, signal: AbortSignal): Promise<number | null>;

  /** Compares what the marketplace says of itself with what is relied on. No token is sent for it. */
  findDeviations(signal: AbortSignal): Promise<Deviation[]>;
  /**
   * By how much the local clock was ahead of the marketplace's (negative: behind) at the last answer, at
   * least, to a second; undefined before the first answer.
   */
  clockDriftMs(): number | undefined;
}

/** What a source can do whose tokens can be replaced: all of it, or nothing. */
export interface TokenCalls {
  /** All tokens of the account, without their secrets; those that expired or were revoked too. */
  listTokens(signal: AbortSignal): Promise<TokenRecord[]>;
  /**
   * It must not be repeated: after a failure without a `status` below 500 a token may exist whose secret is lost. Its
   * name finds it.
   *
   * @throws AppError `forbidden` for a scope that the token itself lacks, `conflict` if there are too many tokens
   */
  createToken(wanted: NewToken, signal: AbortSignal): Promise<CreatedToken>;
  /** For good, and at once. It may be repeated. @throws AppError `not_found` if the account has no such token */
  revokeToken(tokenId: string, signal: AbortSignal): Promise<void>;
}

/** From this drift on an operator should know. Deliveries are refused from 300 s on. */
export const notableDriftMs = 60_000;

/** What a caller may learn about a call besides its answer. */
export interface CallNotes {
  /** An attempt ended without a known outcome. It may still take effect, even after the next attempt. */
  onUnheard?(): void;
  /** The marketplace's id of the answered request, if the answer has one. */
  onRequestId?(requestId: string): void;
}

/** What an operator can do if the marketplace refuses or does not answer. */
export interface Remedies {
  /** The token is invalid, expired or revoked. */
  tokenRefused(install: string): string;
  /** The token is valid, but nothing is allowed with it. */
  accessRefused: string;
  /** No answer came, or it was not the marketplace's. */
  unreachable: string;
  scopeMissing: string;
  grantInactive: string;
  addressesUnshared: string;
}

export interface NeededScope {
  scope: string;
  /** What does not work without it. */
  without: string;
  /** Whether no trainer gets in without it. */
  isVital: boolean;
  /** What is refused without it. */
  operations: readonly (keyof Source)[];
}

export interface OptionalScopes {
  /** What each scope is for, as `only for …`. One that is missing here is not needed. */
  uses: ReadonlyMap<string, string>;
  /** How to get a token without scopes that are not needed. */
  remedy(install: string): string;
}

export interface NewLink {
  /** At most 200 characters. */
  externalProjectId: string;
  externalProjectName?: string;
  externalProjectUrl?: string;
  /** `PARTNER_WEBHOOK` by default. */
  provisioningMode?: 'PARTNER_WEBHOOK' | 'MANAGED_ADAPTER';
  jobId?: string;
}

export interface ContractFilter {
  status: 'active' | 'ended';
  projectLinkId?: string;
  /** Called after each page that is followed by another; false leaves the others unread. */
  wantsMore?(page: readonly Contract[]): Promise<boolean> | boolean;
  /** What to keep of each contract, because there may be very many; everything by default. */
  keep?(contract: Contract): Contract;
}

export interface ContractPage {
  contracts: Contract[];
  /** False if there may be more than was read. What is missing is then unseen, not absent. */
  isComplete: boolean;
  /** Links whose contracts were refused, unlike those of others. Their contracts are unseen, not absent. */
  unreadLinks?: UnreadLink[];
}

export interface UnreadLink {
  linkId: string;
  jobId: string;
  refusal: AppError;
}

/** The total of one trainer for one day. A count that is left out keeps its stored value. */
export interface UsageEntry {
  /** `2026-03-15` */
  workDate: string;
  totalSeconds?: number;
  tasksCompleted?: number;
  labelsCompleted?: number;
  workerOpentrainUserId?: string;
  externalReportId?: string;
}

export interface UpdatesPage {
  updates: Update[];
  /** Where the next page begins. */
  cursor: string | null;
  /** Whether there is more already. */
  hasMore: boolean;
}

/** An event of the feed. */
export interface Update {
  createdAt: string | null;
  /** The record as JSON, as a delivery of the same event has it. */
  body: string;
}

/** The end of a contract, which a person must confirm. */
export interface EndApproval {
  id: string;
  status: 'pending' | 'confirmed' | 'declined' | 'expired';
  /** Where a person confirms or declines it. */
  url: string | null;
  expiresAt: string | null;
}

/** A difference between the API description that the marketplace serves and what Gangway relies on. */
export interface Deviation {
  /** `GET /contracts: contracts[].status` */
  where: string;
  says: string;
  /** Whether something will not work; otherwise it is unknown or only information. */
  isFailure: boolean;
}

/** Whether a scope is granted. The right to write includes the right to read. */
export function isGranted(granted: readonly string[], scope: string): boolean {
  return granted.includes(scope) || granted.includes(scope.replace(/:read$/, ':write'));
}

/**
 * Which job leads to which project, where the marketplace holds no such links: those of the configuration, and those
 * that operators add.
 */
export interface JobLinks {
  list(): Promise<Link[]>;
  /** @throws AppError `conflict` if the job leads to that project already */
  create(wanted: NewLink): Promise<Link>;
  /** @throws AppError `not_found`, or `conflict` if the configuration names the link */
  remove(linkId: string): Promise<void>;
}

/** A link of Gangway's own: Gangway provisions its project. */
export function toLink(id: string, jobId: string, externalProjectId: string): Link {
  return { id, jobId, externalProjectId, externalProjectName: null, provisioningMode: 'PARTNER_WEBHOOK' };
}

/** Only these links, if no database has others. @param jobs the id of a job, and a project of it */
export function fixedLinks(jobs: Iterable<readonly [jobId: string, project: string]>): JobLinks {
  const refuse = async () => {
    throw new AppError('unavailable', 'There is no database that holds links');
  };
  return {
    list: async () => [...jobs].map(([jobId, project]) => toLink(`${jobId} ${project}`, jobId, project)),
    create: refuse,
    remove: refuse,
  };
}
