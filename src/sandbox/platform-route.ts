import { AppError } from '../domain/errors.ts';
import type { Marketplace } from './marketplace.ts';
import { type Contract, type Install, linksOfInstall, type Scope } from './sandbox-state.ts';

/** A call whose token, install and scope were found to be in order. */
export interface PlatformCall {
  marketplace: Marketplace;
  install: Install;
  /** The `{id}` of the path, and empty where it has none. */
  id: string;
  query: unknown;
  body: unknown;
}

/** One operation of the platform API. It answers 200 unless it says 201, or throws an AppError. */
export interface PlatformRoute {
  method: 'get' | 'post' | 'patch' | 'delete';
  /** Below the base address, with `{id}` where an id stands. */
  path: string;
  /** Absent where any valid token will do. */
  scope?: Scope;
  status?: 201;
  answer: (call: PlatformCall) => object;
}

/** As people write it: `GET /contracts/{id}/budget`. */
export function operationOf({ method, path }: PlatformRoute): string {
  return `${method.toUpperCase()} ${path}`;
}

/** The contract, if its job is linked by this install: nothing else is visible to a platform. */
export function findLinkedContract({ marketplace, install, id }: PlatformCall): Contract {
  const contract = marketplace.state.contracts.get(id);
  const links = linksOfInstall(marketplace.state, install);
  if (contract === undefined || !links.some(({ jobId }) => jobId === contract.job.id)) {
    throw new AppError('not_found', 'No contract with this id on a linked job');
  }
  return contract;
}
