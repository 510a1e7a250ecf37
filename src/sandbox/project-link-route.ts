import { AppError } from '../domain/errors.ts';
import { toInstant } from '../lib/clock.ts';
import type { Relink } from './control-request-schema.ts';
import type { Marketplace } from './marketplace.ts';
import { DeletedProjectLink, OneProjectLink, ProjectLinks } from './platform-answer-schema.ts';
import { CreateProjectLink, parseRequest } from './platform-request-schema.ts';
import type { PlatformCall, PlatformRoute } from './platform-route.ts';
import { toPublicLink } from './public-shapes.ts';
import { raiseLinkEvent } from './raise-events.ts';
import { findIn, linksOfInstall, type SandboxInstall, type SandboxLink, type SandboxState } from './sandbox-state.ts';

/** Creates and deletes links, for the platform API and the controls. */

const one = (link: SandboxLink) => ({ projectLink: toPublicLink(link) });

export const projectLinkRoutes: PlatformRoute[] = [
  { operation: 'GET /project-links', scopes: ['project-links:read'], answer: ProjectLinks, run: listLinks },
  {
    operation: 'POST /project-links',
    scopes: ['project-links:write'],
    body: CreateProjectLink,
    status: 201,
    answer: OneProjectLink,
    refusals: [404, 409],
    run: postLink,
  },
  {
    operation: 'GET /project-links/{id}',
    scopes: ['project-links:read'],
    answer: OneProjectLink,
    run: (call) => one(findLink(call)),
  },
  {
    operation: 'DELETE /project-links/{id}',
    scopes: ['project-links:write'],
    answer: DeletedProjectLink,
    run: removeLink,
  },
];

function postLink({ marketplace, install, body }: PlatformCall) {
  return one(createLink(marketplace, install, parseRequest(CreateProjectLink, body)));
}

function listLinks({ marketplace, install }: PlatformCall) {
  return { projectLinks: linksOfInstall(marketplace.state, install).reverse().map(toPublicLink) };
}

function removeLink(call: PlatformCall) {
  const link = findLink(call);
  deleteLink(call.marketplace, call.install, link);
  return { ...one(link), deleted: true };
}

function findLink({ marketplace, install, id }: PlatformCall): SandboxLink {
  const link = marketplace.state.links.get(id);
  if (link?.installId !== install.id) {
    throw new AppError('not_found', 'No project link with this id');
  }
  return link;
}

type NewLink = Pick<
  SandboxLink,
  'jobId' | 'externalProjectId' | 'externalProjectName' | 'externalProjectUrl' | 'provisioningMode'
>;

function createLink(marketplace: Marketplace, install: SandboxInstall, wanted: NewLink): SandboxLink {
  const { state, ids, clock } = marketplace;
  requireLinkable(marketplace, install, wanted);
  const createdAt = toInstant(clock.now());
  const link: SandboxLink = { ...wanted, id: ids.next('lnk'), installId: install.id, createdAt };
  state.links.set(link.id, link);
  raiseLinkEvent(marketplace, 'project_link.created', install, link);
  return link;
}

/** @param replaced the link that will be deleted first, so it is not counted */
function requireLinkable(
  { state, options }: Marketplace,
  install: SandboxInstall,
  { jobId, externalProjectId }: Pick<NewLink, 'jobId' | 'externalProjectId'>,
  replaced?: SandboxLink,
): void {
  if (jobId !== null) requireOwnJob(state, install, jobId);
  const others = linksOfInstall(state, install).filter((link) => link !== replaced);
  requireRoom(others, externalProjectId, options.linksPerInstall ?? 500);
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
export function replaceLiveLink(marketplace: Marketplace, linkId: string, changes: Relink = {}) {
  const { link: replaced, install } = findLiveLink(marketplace, linkId);
  const wanted = {
    ...replaced,
    jobId: changes.jobId === undefined ? replaced.jobId : changes.jobId,
    externalProjectId: changes.externalProjectId ?? replaced.externalProjectId,
    provisioningMode: changes.provisioningMode ?? replaced.provisioningMode,
  };
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
