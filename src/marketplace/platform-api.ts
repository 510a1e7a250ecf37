import { AppError } from '../domain/errors.ts';
import { requestJson } from '../lib/http-client.ts';
import { retry } from '../lib/retry.ts';
import {
  type Contract,
  ContractList,
  type Install,
  InstallAnswer,
  type Participant,
  ParticipantList,
  type ProjectLink,
  ProjectLinkAnswer,
  ProjectLinkList,
} from './platform-schema.ts';

/**
 * One install's view of the marketplace (spec: platform-api.md). Reads only what provisioning
 * needs; every failure is an `AppError` and none of them is ever an empty list.
 */
export interface PlatformApi {
  /** The grant that the token belongs to. */
  getInstall(signal: AbortSignal): Promise<Install>;
  /** All links of the install; there are no pages. */
  listProjectLinks(signal: AbortSignal): Promise<ProjectLink[]>;
  /** @throws AppError `not_found` where there is no such link (any more) */
  getProjectLink(linkId: string, signal: AbortSignal): Promise<ProjectLink>;
  listContracts(filter: ContractFilter, signal: AbortSignal): Promise<ContractPage>;
  /** @throws AppError `not_found` where the contract is unknown or no longer linked */
  listParticipants(contractId: string, signal: AbortSignal): Promise<Participant[]>;
}

export interface ContractFilter {
  status: 'active' | 'ended';
  projectLinkId?: string;
}

export interface ContractPage {
  contracts: Contract[];
  /** False where there may be more than could be read: what is missing is then unseen, not absent. */
  isComplete: boolean;
}

interface PlatformApiOptions {
  /** Without a slash at its end, e.g. `https://app.opentrain.ai/api/partner/v1`. */
  baseUrl: string;
  token: string;
  /** How long one request may take. */
  timeoutMs?: number;
}

interface Schema<T> {
  safeParse(body: unknown): { success: true; data: T } | { success: false; error: Error };
}

const pageLimit = 200;
const maxPages = 1000;
const usualTimeoutMs = 15_000;
const maxBytes = 8 * 1024 * 1024;

export function createPlatformApi(options: PlatformApiOptions): PlatformApi {
  const read = createReader(options);
  return {
    async getInstall(signal) {
      const answer = await read('/installs/current', InstallAnswer, 'read the install', signal);
      return answer.install;
    },

    async getProjectLink(linkId, signal) {
      const path = `/project-links/${toSegment(linkId)}`;
      const answer = await read(path, ProjectLinkAnswer, 'read a project link', signal);
      return answer.projectLink;
    },

    async listProjectLinks(signal) {
      const list = await read('/project-links', ProjectLinkList, 'list the project links', signal);
      return list.projectLinks;
    },

    async listContracts({ status, projectLinkId }, signal) {
      const contracts: Contract[] = [];
      const query = new URLSearchParams({ status, limit: String(pageLimit) });
      if (projectLinkId !== undefined) query.set('projectLinkId', projectLinkId);
      for (let page = 0; page < maxPages; page += 1) {
        const list = await read(`/contracts?${query}`, ContractList, 'list the contracts', signal);
        contracts.push(...list.contracts);
        if (!list.nextCursor) return { contracts, isComplete: list.contracts.length < pageLimit };
        query.set('cursor', list.nextCursor);
      }
      return { contracts, isComplete: false };
    },

    async listParticipants(contractId, signal) {
      const path = `/contracts/${toSegment(contractId)}/participants`;
      const list = await read(path, ParticipantList, 'list the participants of a contract', signal);
      return list.participants;
    },
  };
}

type Read = <T>(
  path: string,
  schema: Schema<T>,
  purpose: string,
  signal: AbortSignal,
) => Promise<T>;

function createReader({ baseUrl, token, timeoutMs = usualTimeoutMs }: PlatformApiOptions): Read {
  return async (path, schema, purpose, signal) => {
    const request = {
      method: 'GET',
      url: `${baseUrl}${path}`,
      headers: { authorization: `Bearer ${token}` },
      ...{ purpose, timeoutMs, maxBytes, signal },
    };
    const { body } = await retry(() => requestJson(request), {
      attempts: 3,
      firstWaitMs: 500,
      maxWaitMs: 5000,
      signal,
      // One that names its own wait is left to the durable back-off.
      isWorthRetrying: (error) => error.code === 'unavailable' && error.retryAfterMs === undefined,
    });
    const parsed = schema.safeParse(body);
    if (parsed.success) return parsed.data;
    throw new AppError('invalid', `Could not ${purpose}: the answer is not what was expected`, {
      cause: parsed.error,
    });
  };
}

/**
 * One segment of a path, whatever stands in it.
 *
 * @throws AppError `not_found` where it would be none, so that nothing can be there
 */
function toSegment(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw new AppError('not_found', 'There is nothing with such an id');
  return encodeURIComponent(id);
}
