import { AppError } from '../domain/errors.ts';
import { budgetOf } from './budget.ts';
import { Budget, ContractPage, Contracts, Participants } from './platform-answer-schema.ts';
import { ContractQuery, parseRequest } from './platform-request-schema.ts';
import { findLinkedContract, type PlatformCall, type PlatformRoute } from './platform-route.ts';
import { toListedContract, toParticipant } from './public-shapes.ts';
import { linksOfInstall, type SandboxContract } from './sandbox-state.ts';

export const contractRoutes: PlatformRoute[] = [
  {
    method: 'get',
    path: '/contracts',
    scopes: ['contracts:read'],
    operationId: 'listContracts',
    summary: 'Contracts on linked jobs, newest first',
    query: ContractQuery,
    answer: Contracts,
    page: ContractPage,
    run: listContracts,
  },
  {
    method: 'get',
    path: '/contracts/{id}/participants',
    scopes: ['participants:read'],
    operationId: 'listParticipants',
    summary: 'Those who work on a contract',
    answer: Participants,
    run: listParticipants,
  },
  {
    method: 'get',
    path: '/contracts/{id}/budget',
    scopes: ['contracts:read'],
    operationId: 'getBudget',
    summary: 'What is funded and consumed',
    answer: Budget,
    run: (call) => budgetOf(findLinkedContract(call)),
  },
];

function listContracts(call: PlatformCall) {
  const { marketplace, install } = call;
  const query = parseRequest(ContractQuery, call.query);
  const found = findContracts(call, query.projectLinkId).filter(
    ({ status }) => query.status === undefined || status === query.status,
  );
  const first = marketplace.hasCursors ? firstAfter(found, query.cursor) : 0;
  const page = found.slice(first, first + query.limit);
  const contracts = page.map((contract) => toListedContract(marketplace.state, install, contract));
  if (!marketplace.hasCursors) return { contracts };
  const hasMore = first + page.length < found.length;
  return { contracts, nextCursor: hasMore ? toCursor(page.at(-1)) : null };
}

/** Newest first. A link of another install gives none. */
function findContracts({ marketplace, install }: PlatformCall, linkId?: string): SandboxContract[] {
  const links = linksOfInstall(marketplace.state, install).filter(({ id }) => linkId === undefined || id === linkId);
  const jobIds = new Set(links.map(({ jobId }) => jobId));
  return [...marketplace.state.contracts.values()].filter(({ job }) => jobIds.has(job.id)).reverse();
}

function toCursor(contract: SandboxContract | undefined): string | null {
  return contract === undefined ? null : Buffer.from(contract.id).toString('base64url');
}

function firstAfter(contracts: SandboxContract[], cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const lastId = Buffer.from(cursor, 'base64url').toString();
  const last = contracts.findIndex(({ id }) => id === lastId);
  if (last === -1) throw new AppError('invalid', 'cursor: not one that this listing returned');
  return last + 1;
}

function listParticipants(call: PlatformCall) {
  const contract = findLinkedContract(call);
  return {
    contractId: contract.id,
    participants: contract.participants.map((trainer) => toParticipant(call.install, trainer)),
  };
}
