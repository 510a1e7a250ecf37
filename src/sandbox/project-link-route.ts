import { AppError } from '../domain/errors.ts';
import type { Received } from '../marketplace/contract/operation.ts';
import { projectLinks } from '../marketplace/contract/platform.ts';
import { forInstall, type InstallCall, type Route } from './api-router.ts';
import type { Marketplace } from './marketplace.ts';
import type { Wanted } from './parse-request.ts';
import { toPublicLink } from './public-shapes.ts';
import { raiseLinkEvent } from './raise-events.ts';
import { findIn, linksOfInstall, type SandboxInstall, type SandboxLink } from './sandbox-state.ts';

/** Creates and deletes links, for the platform API and the controls. */

const one = (link: SandboxLink) => ({ projectLink: toPublicLink(link) });

export const projectLinkRoutes: readonly Route[] = [
  forInstall(projectLinks.list, ({ marketplace, install }) => ({
    projectLinks: linksOfInstall(marketplace.state, install).reverse().map(toPublicLink),
  })),
  forInstall(projectLinks.create, ({ marketplace, install, input }) => one(createLink(marketplace, install, input))),
  forInstall(projectLinks.get, (call) => one(findLink(call, call.input.linkId))),
  forInstall(projectLinks.delete, (call) => {
    const link = findLink(call, call.input.linkId);
    deleteLink(call.marketplace, call.install, link);
    return { ...one(link), deleted: true };
  }),
];

function findLink({ marketplace, install }: InstallCall, id: string): SandboxLink {
  const link = marketplace.state.links.get(id);
  if (link?.installId === install.id) return link;
  throw new AppError('not_found', 'No project link with this id');
}

type NewLink = Received<typeof projectLinks.create>;

function createLink(marketplace: Marketplace, install: SandboxInstall, wanted: NewLink): SandboxLink {
  const { state, ids, now } = marketplace;
  requireLinkable(marketplace, install, wanted);
  const { jobId = null, externalProjectId, provisioningMode = 'PARTNER_WEBHOOK' } = wanted;
  const { externalProjectName = null, externalProjectUrl = null } = wanted;
  const project = { jobId, externalProjectId, externalProjectName, externalProjectUrl, provisioningMode };
  const link: SandboxLink = { id: ids.next('lnk'), installId: install.id, ...project, createdAt: now() };
  state.links.set(link.id, link);
  raiseLinkEvent(marketplace, 'project_link.created', install, link);
  return link;
}

/** @param replaced the link that will be deleted first, so it is not counted */
function requireLinkable(
  { state, options: { linksPerInstall: limit = 500 } }: Marketplace,
  install: SandboxInstall,
  { jobId = null, externalProjectId }: NewLink,
  replaced?: SandboxLink,
): void {
  if (jobId !== null && state.jobs.get(jobId)?.organizationId !== install.organizationId) {
    throw new AppError('not_found', 'No job with this id belongs to the employer');
  }
  const others = linksOfInstall(state, install).filter((link) => link !== replaced);
  if (others.some((link) => link.externalProjectId === externalProjectId)) {
    throw new AppError('conflict', 'This externalProjectId is linked already');
  }
  if (others.length < limit) return;
  throw new AppError('conflict', `The install has ${limit} project links, which is the limit`);
}

/** Its contracts disappear from the list. Their trainers stay hired. */
function deleteLink(marketplace: Marketplace, install: SandboxInstall, link: SandboxLink): void {
  marketplace.state.links.delete(link.id);
  raiseLinkEvent(marketplace, 'project_link.removed', install, link);
}

export function removeLiveLink(marketplace: Marketplace, linkId: string) {
  const { link, install } = findLiveLink(marketplace, linkId);
  deleteLink(marketplace, install, link);
  return { projectLink: { ...link }, deleted: true };
}

/** A link cannot be changed, so it is deleted and a new one is created. */
export function replaceLiveLink(marketplace: Marketplace, linkId: string, changes: Wanted<'Relink'> = {}) {
  const { link: replaced, install } = findLiveLink(marketplace, linkId);
  const { jobId = replaced.jobId, externalProjectId = replaced.externalProjectId } = changes;
  const { provisioningMode = replaced.provisioningMode } = changes;
  const wanted = { ...replaced, jobId, externalProjectId, provisioningMode };
  // Before the deletion, so that a refused request changes nothing.
  requireLinkable(marketplace, install, wanted, replaced);
  deleteLink(marketplace, install, replaced);
  return { projectLink: { ...createLink(marketplace, install, wanted) } };
}

/** The links of a revoked install cannot be changed, and its endpoints get no events. */
function findLiveLink({ state }: Marketplace, linkId: string): { link: SandboxLink; install: SandboxInstall } {
  const link = findIn(state.links, 'project link', linkId);
  const install = findIn(state.installs, 'install', link.installId);
  if (install.status === 'ACTIVE') return { link, install };
  throw new AppError('conflict', `The install of project link ${linkId} is revoked`);
}
