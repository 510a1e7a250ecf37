import { AppError } from '../domain/errors.ts';
import type { CallNotes, Client } from './client.ts';
import type { Input, Sent } from './contract/operation.ts';
import type { Contract, Link, platformContracts, projectLinks, webhookEndpoints } from './contract/platform.ts';
import type { Budget, Endpoint } from './contract/records.ts';
import type { Grant, Participant, PendingPayment, Publication, TokenRecord, UsageAnswer } from './source-records.ts';

export type { Budget, Contract, Grant, Link, Participant, UsageAnswer };

/**
 * The port for sources. A source is an account at the marketplace as one install uses it: it says who is hired for which
 * project. Every failure except a stop is an `AppError`, never an empty list. No request with the install's token follows
 * a redirect. An optional method is a capability: callers check for it, never for the kind of the source.
 */

/** The operations that read evidence. They change nothing. */
export interface SourceReader {
  /**
   * The grant that the token belongs to.
   *
   * @throws AppError `conflict`, as every operation does, if the grant is not of the install's customer
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
 * All operations of a source. Calls that may be repeated are retried a few times if the marketplace is `unavailable`. If
 * one call is `rate_limited`, all wait.
 */
export interface Source extends SourceReader {
  readonly neededScopes: readonly NeededScope[];
  /** Only if the operator chooses the scopes of the token. */
  readonly optionalScopes?: OptionalScopes;
  readonly remedies: Remedies;
  /** Whether a contract may end without an event, so that it has to be read often. */
  readonly hasSilentEnds: boolean;

  /**
   * May be repeated: if an earlier answer was lost, the link of that attempt is returned.
   *
   * @throws AppError `conflict` if the project is linked already, or if there are too many links;
   * `not_found` if the customer has no such job
   */
  createLink?(wanted: NewLink, signal: AbortSignal): Promise<Link>;
  /** Cannot be undone. @throws AppError `not_found` if there is no such link */
  deleteLink?(linkId: string, signal: AbortSignal): Promise<void>;

  /** @throws AppError `not_found` if the contract is unknown or no longer linked */
  readBudget(contractId: string, signal: AbortSignal): Promise<Budget>;
  /**
   * May be repeated, because the totals replace those reported before. Either all entries are accepted, or none.
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
   * What these jobs have published for their trainers, by the id of the job. Jobs without a publication are left out, and
   * so are drafts.
   */
  readPublications?(jobIds: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, Publication>>;

  /**
   * A page of the feed, oldest event first. Types that the token may not read are left out.
   *
   * @param cursor of the page before; null for the first event that there is
   * @throws AppError `invalid` if the cursor is refused
   */
  readUpdates?(cursor: string | null, signal: AbortSignal): Promise<UpdatesPage>;

  /**
   * The payments that a person of the account must settle, for the linked jobs or for no job.
   *
   * @throws AppError `unavailable` if the list is incomplete
   */
  listPendingPayments?(signal: AbortSignal): Promise<PendingPayment[]>;

  /** All tokens of the account, even those that expired or were revoked. */
  listTokens?(signal: AbortSignal): Promise<TokenRecord[]>;
  /** Any operation of the employer API. Only an account of one's own has it. */
  call?: Account['call'];
  /** The same for a whole list. */
  listWhole?: Account['listWhole'];

  /** All event types that the token may subscribe to. */
  listEventTypes(signal: AbortSignal): Promise<readonly string[]>;
  /** All webhook endpoints of the install, or of the account, which others may use too. */
  listEndpoints(signal: AbortSignal): Promise<Endpoint[]>;
  /** @throws AppError `not_found` if there is no such endpoint */
  readEndpoint(endpointId: string, signal: AbortSignal): Promise<Endpoint>;
  /**
   * Must not be repeated: after a failure without a `status` below 500, an endpoint may exist whose secret is lost. List
   * the endpoints before the next attempt.
   *
   * @returns with the secret, which the marketplace shows only this once
   * @throws AppError `conflict` if there are too many endpoints
   */
  createEndpoint(wanted: NewEndpoint, signal: AbortSignal): Promise<{ endpoint: Endpoint; secret: string }>;
  /** Changes the given fields; `ACTIVE` enables the endpoint again. The secret never changes. */
  updateEndpoint?(endpointId: string, changes: EndpointChanges, signal: AbortSignal): Promise<Endpoint>;
  /** Pending deliveries are lost. @throws AppError `not_found` if there is no such endpoint */
  deleteEndpoint(endpointId: string, signal: AbortSignal): Promise<void>;
  /**
   * Requests all failed deliveries, or one whatever its status. They come within about five minutes.
   * @returns how many; null if the marketplace did not say
   */
  redeliver?(endpointId: string, deliveryId: string | undefined, signal: AbortSignal): Promise<number | null>;

  /** Compares the marketplace's description of its API with what Gangway relies on. Sends no token. */
  findDeviations(signal: AbortSignal): Promise<Deviation[]>;
  /**
   * By how much, at least and to a second, the local clock was ahead of the marketplace's (negative: behind) at the last
   * answer; undefined before the first answer.
   */
  clockDriftMs(): number | undefined;
}

/** What is done with an account of one's own. */
export type Account = Pick<Client, 'call' | 'listWhole'>;

/** A drift that an operator should know of. From 300 s on, deliveries are refused. */
export const notableDriftMs = 60_000;

/** What an operator can do. */
export interface Remedies {
  /** The token is invalid, expired or revoked. */
  tokenRefused(install: string): string;
  /** The token is valid, but may do nothing. */
  accessRefused: string;
  /** No answer came, or not the marketplace's. */
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
  operations: readonly (keyof Source)[];
}

export interface OptionalScopes {
  /** What each scope is for, as `only for …`. Scopes that are missing here are not needed. */
  uses: ReadonlyMap<string, string>;
  /** How to get a token without the scopes that are not needed. */
  remedy(install: string): string;
}

/** Its mode is `PARTNER_WEBHOOK` by default. */
export type NewLink = Input<typeof projectLinks.create>;
type NewEndpoint = Sent<typeof webhookEndpoints.create>;
export type EndpointChanges = Omit<Sent<typeof webhookEndpoints.update>, 'endpointId'>;

export interface ContractFilter {
  status: 'active' | 'ended';
  projectLinkId?: string;
  /** Called after each page except the last; false leaves the other pages unread. */
  wantsMore?(page: readonly Contract[]): Promise<boolean> | boolean;
  /** What to keep of each contract, because there may be many; everything by default. */
  keep?(contract: Contract): Contract;
}

export interface ContractPage {
  contracts: Contract[];
  /** False if there may be more than was read. What is missing is then unseen, not absent. */
  isComplete: boolean;
  /** Links whose contracts alone were refused. Their contracts are unseen, not absent. */
  unreadLinks?: UnreadLink[];
}

export interface UnreadLink {
  linkId: string;
  jobId: string;
  refusal: AppError;
}

/** The total of a trainer on a day. A count that is left out keeps its stored value. */
export type UsageEntry = Input<typeof platformContracts.usage>['entries'][number];

export interface UpdatesPage {
  updates: Update[];
  /** Of the next page. */
  cursor: string | null;
  /** Whether the next page has events already. */
  hasMore: boolean;
}

/** An event of the feed. */
export interface Update {
  createdAt: string | null;
  /** The record as JSON, the same as in a delivery of the event. */
  body: string;
}

/** A difference between the marketplace's description of its API and what Gangway relies on. */
export interface Deviation {
  /** `GET /contracts: contracts[].status` */
  where: string;
  says: string;
  /** Whether something will not work. Otherwise that is unknown, or the deviation is harmless. */
  isFailure: boolean;
}

/** The links from jobs to projects that Gangway stores, because the marketplace has none: configured or added by operators. */
export interface JobLinks {
  list(): Promise<Link[]>;
  /** @throws AppError `conflict` if the job is linked to that project already */
  create(wanted: NewLink): Promise<Link>;
  /** @throws AppError `not_found`; `conflict` for a link of the configuration */
  remove(linkId: string): Promise<void>;
}

/** A link that Gangway stores, and whose project it provisions. */
export function toLink(id: string, jobId: string, externalProjectId: string): Link {
  return { id, jobId, externalProjectId, externalProjectName: null, provisioningMode: 'PARTNER_WEBHOOK' };
}

/** Exactly these links, without a database. */
export function fixedLinks(jobs: Iterable<readonly [jobId: string, project: string]>): JobLinks {
  const refuse = async () => {
    throw new AppError('unavailable', 'There is no database for links');
  };
  return {
    list: async () => [...jobs].map(([jobId, project]) => toLink(`${jobId} ${project}`, jobId, project)),
    create: refuse,
    remove: refuse,
  };
}
