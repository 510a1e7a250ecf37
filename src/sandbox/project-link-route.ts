import { AppError } from '../domain/errors.ts';
import { CreateProjectLink, parseRequest } from './platform-request-schema.ts';
import type { PlatformCall, PlatformRoute } from './platform-route.ts';
import { addLink, dropLink } from './project-links.ts';
import { toPublicLink } from './public-shapes.ts';
import { linksOfInstall, type ProjectLink } from './sandbox-state.ts';

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
  const wanted = parseRequest(CreateProjectLink, body);
  const link = addLink(marketplace, install, {
    jobId: wanted.jobId ?? null,
    externalProjectId: wanted.externalProjectId,
    externalProjectName: wanted.externalProjectName ?? null,
    externalProjectUrl: wanted.externalProjectUrl ?? null,
    provisioningMode: wanted.provisioningMode,
  });
  return { projectLink: toPublicLink(link) };
}

function listLinks({ marketplace, install }: PlatformCall) {
  return { projectLinks: linksOfInstall(marketplace.state, install).reverse().map(toPublicLink) };
}

function deleteLink(call: PlatformCall) {
  const link = findLink(call);
  dropLink(call.marketplace, call.install, link);
  return { projectLink: toPublicLink(link), deleted: true };
}

function findLink({ marketplace, install, id }: PlatformCall): ProjectLink {
  const link = marketplace.state.links.get(id);
  if (link?.installId !== install.id) {
    throw new AppError('not_found', 'No project link with this id');
  }
  return link;
}
