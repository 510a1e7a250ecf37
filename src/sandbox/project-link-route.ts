import { AppError } from '../domain/errors.ts';
import { toInstant } from '../lib/clock.ts';
import { toLinkOccurrence } from './occurrences.ts';
import { CreateProjectLink, parseRequest } from './platform-request-schema.ts';
import type { PlatformCall, PlatformRoute } from './platform-route.ts';
import { toPublicLink } from './public-shapes.ts';
import {
  type Install,
  linksOfInstall,
  type ProjectLink,
  type SandboxState,
} from './sandbox-state.ts';

export const projectLinkRoutes: PlatformRoute[] = [
  {
    method: 'post',
    path: '/project-links',
    scope: 'project-links:write',
    status: 201,
    answer: createLink,
  },
  { method: 'get', path: '/project-links', scope: 'project-links:read', answer: listLinks },
  {
    method: 'get',
    path: '/project-links/{id}',
    scope: 'project-links:read',
    answer: (call) => ({ projectLink: toPublicLink(findLink(call)) }),
  },
  {
    method: 'delete',
    path: '/project-links/{id}',
    scope: 'project-links:write',
    answer: deleteLink,
  },
];

function createLink({ marketplace, install, body }: PlatformCall) {
  const { state, ids, clock, limits } = marketplace;
  const wanted = parseRequest(CreateProjectLink, body);
  const jobId = wanted.jobId ?? null;
  if (jobId !== null) requireOwnJob(state, install, jobId);
  requireRoom(linksOfInstall(state, install), wanted.externalProjectId, limits.linksPerInstall);
  const link: ProjectLink = {
    id: ids.next('lnk'),
    installId: install.id,
    jobId,
    externalProjectId: wanted.externalProjectId,
    externalProjectName: wanted.externalProjectName ?? null,
    externalProjectUrl: wanted.externalProjectUrl ?? null,
    provisioningMode: wanted.provisioningMode,
    createdAt: toInstant(clock.now()),
  };
  state.links.set(link.id, link);
  marketplace.raiseEvents([toLinkOccurrence('project_link.created', install, link)]);
  return { projectLink: toPublicLink(link) };
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

function listLinks({ marketplace, install }: PlatformCall) {
  return { projectLinks: linksOfInstall(marketplace.state, install).reverse().map(toPublicLink) };
}

/** Its contracts leave the listing with it; those who work on them stay hired. */
function deleteLink(call: PlatformCall) {
  const { marketplace, install } = call;
  const link = findLink(call);
  marketplace.state.links.delete(link.id);
  marketplace.raiseEvents([toLinkOccurrence('project_link.removed', install, link)]);
  return { projectLink: toPublicLink(link), deleted: true };
}

function findLink({ marketplace, install, id }: PlatformCall): ProjectLink {
  const link = marketplace.state.links.get(id);
  if (link?.installId !== install.id) {
    throw new AppError('not_found', 'No project link with this id');
  }
  return link;
}
