import { AppError } from '../domain/errors.ts';
import type { Marketplace } from './marketplace.ts';
import { linksOfInstall, type SandboxContract, type SandboxInstall, type Scope } from './sandbox-state.ts';

/** A call whose token, install and scope are valid. */
export interface PlatformCall {
  marketplace: Marketplace;
  install: SandboxInstall;
  /** The `{id}` of the path; empty if it has none. */
  id: string;
  query: unknown;
  body: unknown;
}

/** One operation of the platform API. */
export interface PlatformRoute {
  method: 'get' | 'post' | 'patch' | 'delete';
  /** Below the base address, with `{id}` for an id. */
  path: string;
  /** Any valid token is enough without it. */
  scope?: Scope;
  /** 200 by default. */
  status?: 201;
  /** @throws AppError */
  answer: (call: PlatformCall) => object;
}

/** Such as `GET /contracts/{id}/budget`. */
export function operationOf({ method, path }: Pick<PlatformRoute, 'method' | 'path'>): string {
  return `${method.toUpperCase()} ${path}`;
}

/** A platform sees only the contracts whose job its install has linked. */
export function findLinkedContract({ marketplace, install, id }: PlatformCall): SandboxContract {
  const contract = marketplace.state.contracts.get(id);
  const links = linksOfInstall(marketplace.state, install);
  if (contract === undefined || !links.some(({ jobId }) => jobId === contract.job.id)) {
    throw new AppError('not_found', 'No contract with this id on a linked job');
  }
  return contract;
}
