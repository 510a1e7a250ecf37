import { AppError } from '../domain/errors.ts';
import type { ApiCall, ApiCaller, ApiRoute } from './api-router.ts';
import { linksOfInstall, type SandboxContract, type SandboxInstall } from './sandbox-state.ts';

export interface PlatformCaller extends ApiCaller {
  install: SandboxInstall;
}
export type PlatformCall = ApiCall & PlatformCaller;
export type PlatformRoute = ApiRoute<PlatformCaller>;

/** A platform sees only the contracts whose job its install has linked. */
export function findLinkedContract({ marketplace, install, id }: PlatformCall): SandboxContract {
  const contract = marketplace.state.contracts.get(id);
  const links = linksOfInstall(marketplace.state, install);
  if (contract === undefined || !links.some(({ jobId }) => jobId === contract.job.id)) {
    throw new AppError('not_found', 'No contract with this id on a linked job');
  }
  return contract;
}
