import { AppError } from '../domain/errors.ts';
import { toInstant } from '../lib/clock.ts';
import type { Relink } from './control-request-schema.ts';
import { findInstall } from './install-control.ts';
import type { Marketplace } from './marketplace.ts';
import { toLinkOccurrence } from './occurrences.ts';
import { linksOfInstall, type SandboxInstall, type SandboxLink, type SandboxState } from './sandbox-state.ts';

/** How links are created and deleted, by the platform API and by the controls. */

type NewLink = Pick<
  SandboxLink,
  'jobId' | 'externalProjectId' | 'externalProjectName' | 'externalProjectUrl' | 'provisioningMode'
>;

export function createLink(marketplace: Marketplace, install: SandboxInstall, wanted: NewLink): SandboxLink {
  const { state, ids, clock } = marketplace;
  requireLinkable(marketplace, install, wanted);
  const link: SandboxLink = {
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

/** @param replaced the link that will be deleted first, so it does not count */
function requireLinkable(
  { state, limits }: Marketplace,
  install: SandboxInstall,
  { jobId, externalProjectId }: Pick<NewLink, 'jobId' | 'externalProjectId'>,
  replaced?: SandboxLink,
): void {
  if (jobId !== null) requireOwnJob(state, install, jobId);
  const others = linksOfInstall(state, install).filter((link) => link !== replaced);
  requireRoom(others, externalProjectId, limits.linksPerInstall);
}

/** Its contracts disappear from the list with it. Their trainers stay hired. */
export function deleteLink(marketplace: Marketplace, install: SandboxInstall, link: SandboxLink): void {
  marketplace.state.links.delete(link.id);
  marketplace.raiseEvents([toLinkOccurrence('project_link.removed', install, link)]);
}

export function removeLiveLink(marketplace: Marketplace, linkId: string): SandboxLink {
  const { link, install } = findLiveLink(marketplace, linkId);
  deleteLink(marketplace, install, link);
  return { ...link };
}

/** A link cannot be changed, so it is deleted and another is created. */
export function replaceLiveLink(marketplace: Marketplace, linkId: string, changes: Relink = {}): SandboxLink {
  const { link: replaced, install } = findLiveLink(marketplace, linkId);
  const wanted = {
    ...replaced,
    jobId: changes.jobId === undefined ? replaced.jobId : changes.jobId,
    externalProjectId: changes.externalProjectId ?? replaced.externalProjectId,
    provisioningMode: changes.provisioningMode ?? replaced.provisioningMode,
  };
  // This comes before the deletion, so that a refused request changes nothing.
  requireLinkable(marketplace, install, wanted, replaced);
  deleteLink(marketplace, install, replaced);
  return { ...createLink(marketplace, install, wanted) };
}

/** The links of a revoked install cannot be changed, and its endpoints get no events. */
function findLiveLink({ state }: Marketplace, linkId: string): { link: SandboxLink; install: SandboxInstall } {
  const link = state.links.get(linkId);
  if (link === undefined) throw new AppError('not_found', `No project link ${linkId}`);
  const install = findInstall(state, link.installId);
  if (install.status === 'ACTIVE') return { link, install };
  throw new AppError('conflict', `The install of project link ${linkId} is revoked`);
}

function requireOwnJob(state: SandboxState, install: SandboxInstall, jobId: string): void {
  if (state.jobs.get(jobId)?.organizationId === install.organizationId) return;
  throw new AppError('not_found', 'No job with this id belongs to the employer');
}

function requireRoom(links: SandboxLink[], externalProjectId: string, limit: number): void {
  if (links.some((link) => link.externalProjectId === externalProjectId)) {
    throw new AppError('conflict', 'This externalProjectId is linked already');
  }
  if (links.length >= limit) {
    throw new AppError('conflict', `The install has ${limit} project links, which is the limit`);
  }
}
