/**
 * One install's view of the marketplace (spec: platform-api.md). Every failure is an `AppError`, none
 * of them is ever an empty list, and nothing follows a redirect with the install's token.
 */

import { createContractCalls } from './contract-calls.ts';
import { createEndpointCalls } from './endpoint-calls.ts';
import { createLinkCalls } from './link-calls.ts';
import { createPlatformCaller, type PlatformCallOptions } from './platform-caller.ts';
import {
  type Budget,
  type Contract,
  type Grant,
  InstallAnswer,
  OpenapiDocument,
  type Participant,
  type ProjectLink,
  type UsageAnswer,
  type WebhookEndpoint,
} from './platform-schema.ts';

/** What evidence is read from; it changes nothing there. */
export interface PlatformReader {
  /**
   * The grant that the token belongs to.
   *
   * @throws AppError `conflict`, as all of these do, where that is not of the customer of the install
   */
  getInstall(signal: AbortSignal): Promise<Grant>;
  /** All links of the install. */
  listProjectLinks(signal: AbortSignal): Promise<ProjectLink[]>;
  /** @throws AppError `not_found` where there is no such link (any more) */
  getProjectLink(linkId: string, signal: AbortSignal): Promise<ProjectLink>;
  listContracts(filter: ContractFilter, signal: AbortSignal): Promise<ContractPage>;
  /** @throws AppError `not_found` where the contract is unknown or no longer linked */
  listParticipants(contractId: string, signal: AbortSignal): Promise<Participant[]>;
}

/**
 * All that the marketplace offers to a platform. What can be repeated without harm is tried a few
 * times while it is `unavailable`; any call may be `rate_limited`, and all wait for that together.
 */
export interface PlatformApi extends PlatformReader {
  /**
   * Safe to repeat: an id is linked once, and where a lost answer was a success its link is found.
   *
   * @throws AppError `conflict` where the id is linked already, or there are as many links as may be;
   * `not_found` where the job is none of the customer's
   */
  createProjectLink(wanted: NewProjectLink, signal: AbortSignal): Promise<ProjectLink>;
  /** For good. @throws AppError `not_found` where there is no such link (any more) */
  deleteProjectLink(linkId: string, signal: AbortSignal): Promise<void>;

  /** @throws AppError `not_found` where the contract is unknown or no longer linked */
  readBudget(contractId: string, signal: AbortSignal): Promise<Budget>;
  /**
   * Totals replace what was reported before, so that it is safe to repeat. All entries or none.
   *
   * @throws AppError `invalid` where any entry is refused, `conflict` where nobody is hired,
   * `not_found` where the contract is unknown or no longer linked
   */
  reportUsage(
    contractId: string,
    entries: readonly UsageEntry[],
    signal: AbortSignal,
    notes?: CallNotes,
  ): Promise<UsageAnswer>;

  /** All endpoints of the install. */
  listWebhookEndpoints(signal: AbortSignal): Promise<WebhookEndpoint[]>;
  /** @throws AppError `not_found` where there is no such endpoint (any more) */
  getWebhookEndpoint(endpointId: string, signal: AbortSignal): Promise<WebhookEndpoint>;
  /**
   * Not safe to repeat, and never repeated: after a failure without a `status` below 500 there may be
   * an endpoint whose secret nobody knows. Look before the next try.
   *
   * @throws AppError `conflict` where there are as many endpoints as may be
   */
  createWebhookEndpoint(wanted: NewWebhookEndpoint, signal: AbortSignal): Promise<CreatedEndpoint>;
  /** Changes what is named; `ACTIVE` enables it again. Never changes the secret. */
  updateWebhookEndpoint(endpointId: string, changes: EndpointChanges, signal: AbortSignal): Promise<WebhookEndpoint>;
  /** Its pending deliveries are lost. @throws AppError `not_found` where there is none (any more) */
  deleteWebhookEndpoint(endpointId: string, signal: AbortSignal): Promise<void>;
  /**
   * Asks for all deliveries that failed, or for one whatever became of it, within some five minutes.
   * Gives how many there are, and null where that was not said.
   */
  redeliver(endpointId: string, deliveryId: string | undefined, signal: AbortSignal): Promise<number | null>;

  /** The served contract, for which no token is sent. */
  readOpenapi(signal: AbortSignal): Promise<OpenapiDocument>;
  /**
   * By how much the local clock was ahead of the marketplace's (behind: negative) at its last answer,
   * to a second and in its favour; undefined before there was one.
   */
  clockDriftMs(): number | undefined;
}

/** What there is to know of a call beside its answer. */
export interface CallNotes {
  /** A try ended of which nobody knows whether it was done: it may be, also after the next. */
  onUnheard?(): void;
  /** The marketplace's name for the request that was answered, where the answer says one. */
  onRequestId?(requestId: string): void;
}

export interface ContractFilter {
  status: 'active' | 'ended';
  projectLinkId?: string;
  /** Asked after each page that has another after it; false leaves the others unread. */
  wantsMore?(page: readonly Contract[]): Promise<boolean> | boolean;
  /** What to keep of each, where there may be very many; all of it by default. */
  keep?(contract: Contract): Contract;
}

export interface ContractPage {
  contracts: Contract[];
  /** False where there may be more than could be read: what is missing is then unseen, not absent. */
  isComplete: boolean;
}

export interface NewProjectLink {
  /** At most 200 characters. */
  externalProjectId: string;
  externalProjectName?: string;
  externalProjectUrl?: string;
  /** `PARTNER_WEBHOOK`, unless told. */
  provisioningMode?: 'PARTNER_WEBHOOK' | 'MANAGED_ADAPTER';
  jobId?: string;
}

/** What one trainer has done in all on one day. A count that is left out keeps what was stored. */
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
  /** Shown this once. */
  secret: string;
}

export function createPlatformApi(options: PlatformCallOptions): PlatformApi {
  const { call, clockDriftMs } = createPlatformCaller(options);
  return {
    ...createLinkCalls(call),
    ...createContractCalls(call),
    ...createEndpointCalls(call),

    async getInstall(signal) {
      const operation = { path: '/installs/current', purpose: 'read the install' };
      return (await call({ ...operation, answer: InstallAnswer }, signal)).install;
    },

    async readOpenapi(signal) {
      const operation = { path: '/openapi.json', purpose: 'read the description of the API' };
      return await call({ ...operation, answer: OpenapiDocument, isAnonymous: true }, signal);
    },

    clockDriftMs,
  };
}
