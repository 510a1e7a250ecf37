/**
 * The marketplace API as one install uses it. Every failure is an `AppError` and never an empty list.
 * No request with the token of the install follows a redirect.
 */

import type {
  Budget,
  Contract,
  Grant,
  OpenapiDocument,
  Participant,
  ProjectLink,
  UsageAnswer,
  WebhookEndpoint,
} from './platform-schema.ts';

/** The operations that evidence is read with. They change nothing. */
export interface PlatformReader {
  /**
   * The grant that the token belongs to.
   *
   * @throws AppError `conflict`, as all operations do, if the grant is not of the install's customer
   */
  getInstall(signal: AbortSignal): Promise<Grant>;
  /** All links of the install. */
  listProjectLinks(signal: AbortSignal): Promise<ProjectLink[]>;
  /** @throws AppError `not_found` if there is no such link (any more) */
  getProjectLink(linkId: string, signal: AbortSignal): Promise<ProjectLink>;
  listContracts(filter: ContractFilter, signal: AbortSignal): Promise<ContractPage>;
  /** @throws AppError `not_found` if the contract is unknown or no longer linked */
  listParticipants(contractId: string, signal: AbortSignal): Promise<Participant[]>;
}

/**
 * All operations of the marketplace for a platform. Calls that may be repeated are tried a few times
 * while the marketplace is `unavailable`. If one call is `rate_limited`, all wait.
 */
export interface PlatformApi extends PlatformReader {
  /**
   * It may be repeated: a project is linked once, and if an earlier answer was lost, its link is found.
   *
   * @throws AppError `conflict` if the project is linked already, or if there are too many links;
   * `not_found` if the customer has no such job
   */
  createProjectLink(wanted: NewProjectLink, signal: AbortSignal): Promise<ProjectLink>;
  /** For good. @throws AppError `not_found` if there is no such link (any more) */
  deleteProjectLink(linkId: string, signal: AbortSignal): Promise<void>;

  /** @throws AppError `not_found` if the contract is unknown or no longer linked */
  readBudget(contractId: string, signal: AbortSignal): Promise<Budget>;
  /**
   * The totals replace what was reported before, so it may be repeated. All entries are taken, or none.
   *
   * @throws AppError `invalid` if an entry is refused, `conflict` if the contract has no trainer,
   * `not_found` if the contract is unknown or no longer linked
   */
  reportUsage(
    contractId: string,
    entries: readonly UsageEntry[],
    signal: AbortSignal,
    notes?: CallNotes,
  ): Promise<UsageAnswer>;

  /** All endpoints of the install. */
  listWebhookEndpoints(signal: AbortSignal): Promise<WebhookEndpoint[]>;
  /** @throws AppError `not_found` if there is no such endpoint (any more) */
  getWebhookEndpoint(endpointId: string, signal: AbortSignal): Promise<WebhookEndpoint>;
  /**
   * It must not be repeated: after a failure without a `status` below 500 an endpoint may exist whose
   * secret is lost. List the endpoints before the next attempt.
   *
   * @throws AppError `conflict` if there are too many endpoints
   */
  createWebhookEndpoint(wanted: NewWebhookEndpoint, signal: AbortSignal): Promise<CreatedEndpoint>;
  /** Changes the given fields; `ACTIVE` enables it again. The secret never changes. */
  updateWebhookEndpoint(endpointId: string, changes: EndpointChanges, signal: AbortSignal): Promise<WebhookEndpoint>;
  /** Its pending deliveries are lost. @throws AppError `not_found` if there is no such endpoint (any more) */
  deleteWebhookEndpoint(endpointId: string, signal: AbortSignal): Promise<void>;
  /**
   * Requests all failed deliveries, or one whatever its status. They come within some five minutes.
   * @returns how many; null if the marketplace did not say
   */
  redeliver(endpointId: string, deliveryId: string | undefined, signal: AbortSignal): Promise<number | null>;

  /** The served API description. No token is sent for it. */
  readOpenapi(signal: AbortSignal): Promise<OpenapiDocument>;
  /**
   * By how much the local clock was ahead of the marketplace's (negative: behind) at the last answer, at
   * least, to a second; undefined before the first answer.
   */
  clockDriftMs(): number | undefined;
}

/** What is noted about a call beside its answer. */
export interface CallNotes {
  /** An attempt ended without a known outcome. It may still take effect, even after the next attempt. */
  onUnheard?(): void;
  /** The marketplace's id of the answered request, if the answer has one. */
  onRequestId?(requestId: string): void;
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
}

export interface NewProjectLink {
  /** At most 200 characters. */
  externalProjectId: string;
  externalProjectName?: string;
  externalProjectUrl?: string;
  /** `PARTNER_WEBHOOK` by default. */
  provisioningMode?: 'PARTNER_WEBHOOK' | 'MANAGED_ADAPTER';
  jobId?: string;
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

export interface NewWebhookEndpoint {
  /** https, or http for localhost. */
  url: string;
  eventTypes: readonly string[];
}

export interface EndpointChanges {
  url?: string;
  eventTypes?: readonly string[];
  status?: 'ACTIVE' | 'DISABLED';
}

export interface CreatedEndpoint {
  endpoint: WebhookEndpoint;
  /** The marketplace shows it only this once. */
  secret: string;
}
