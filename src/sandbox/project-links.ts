import { AppError } from '../domain/errors.ts';
import { toInstant } from '../lib/clock.ts';
import type { Marketplace } from './marketplace.ts';
import { toLinkOccurrence } from './occurrences.ts';
import { type Install, linksOfInstall, type ProjectLink, type SandboxState } from './sandbox-state.ts';

/** How links come and go, whether a platform asks for it or the customer. */

type NewLink = Pick<
  ProjectLink,
  'jobId' | 'externalProjectId' | 'externalProjectName' | 'externalProjectUrl' | 'provisioningMode'
>;

export function addLink(marketplace: Marketplace, install: Install, wanted: NewLink): ProjectLink {
  const { state, ids, clock } = marketplace;
  requireLinkable(marketplace, install, wanted);
  const link: ProjectLink = {
    id: ids.next('lnk'),
    installId: install.id,
    jobId: wanted.jobId,
    externalProjectId: wanted.externalProjectId,
    externalProjectName: wanted.externalProjectName,
    externalProjectUrl: wanted.externalProjectUrl,
    provisioningMode: wanted.provisioningMode,
    createdAt: toInstant(clock.now()),
  };
  state.links.set(link.id, link);
  marketplace.raiseEvents([toLinkOccurrence('project_link.created', install, link)]);
  return link;
}

/** @param replaced goes before the new one comes, and so is not in its way. */
export function requireLinkable(
  { state, limits }: Marketplace,
  install: Install,
  { jobId, externalProjectId }: Pick<NewLink, 'jobId' | 'externalProjectId'>,
  replaced?: ProjectLink,
): void {
  if (jobId !== null) requireOwnJob(state, install, jobId);
  const others = linksOfInstall(state, install).filter((link) => link !== replaced);
  requireRoom(others, externalProjectId, limits.linksPerInstall);
}

/** Its contracts leave the listing with it; those who work on them stay hired. */
export function dropLink(marketplace: Marketplace, install: Install, link: ProjectLink): void {
  marketplace.state.links.delete(link.id);
  marketplace.raiseEvents([toLinkOccurrence('project_link.removed', install, link)]);
}

function requireOwnJob(state: SandboxState, install: Install, jobId: string): void {
  if (state.jobs.get(jobId)?.organizationId === install.organizationId) return;
  throw new AppError('not_found', 'No job with this id belongs to the employer');
}

function requireRoom(links: ProjectLink[], externalProjectId: string, limit: number): void {
  if (links.some((link) => link.externalProjectId === externalProjectId)) {
    throw new AppError('conflict', 'This externalProjectId is linked already');
  }
  if (links.length >= limit) {
    throw new AppError('conflict', `The install has ${limit} project links, which is the limit`);
  }
}
