import { AppError } from '../domain/errors.ts';
import { DeletedProjectLink, OneProjectLink, ProjectLinks } from './platform-answer-schema.ts';
import { CreateProjectLink, parseRequest } from './platform-request-schema.ts';
import type { PlatformCall, PlatformRoute } from './platform-route.ts';
import { createLink, deleteLink } from './project-links.ts';
import { toPublicLink } from './public-shapes.ts';
import { linksOfInstall, type SandboxLink } from './sandbox-state.ts';

const one = (link: SandboxLink) => ({ projectLink: toPublicLink(link) });

export const projectLinkRoutes: PlatformRoute[] = [
  {
    method: 'get',
    path: '/project-links',
    scopes: ['project-links:read'],
    operationId: 'listProjectLinks',
    summary: 'All links, newest first',
    answer: ProjectLinks,
    run: listLinks,
  },
  {
    method: 'post',
    path: '/project-links',
    scopes: ['project-links:write'],
    operationId: 'createProjectLink',
    summary: 'Link a project to a job',
    body: CreateProjectLink,
    status: 201,
    answer: OneProjectLink,
    refusals: [404, 409],
    run: postLink,
  },
  {
    method: 'get',
    path: '/project-links/{id}',
    scopes: ['project-links:read'],
    operationId: 'getProjectLink',
    summary: 'One link',
    answer: OneProjectLink,
    run: (call) => one(findLink(call)),
  },
  {
    method: 'delete',
    path: '/project-links/{id}',
    scopes: ['project-links:write'],
    operationId: 'deleteProjectLink',
    summary: 'Delete a link for good',
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
