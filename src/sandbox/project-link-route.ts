import { AppError } from '../domain/errors.ts';
import { CreateProjectLink, parseRequest } from './platform-request-schema.ts';
import type { PlatformCall, PlatformRoute } from './platform-route.ts';
import { createLink, deleteLink } from './project-links.ts';
import { toPublicLink } from './public-shapes.ts';
import { linksOfInstall, type SandboxLink } from './sandbox-state.ts';

const one = (link: SandboxLink) => ({ projectLink: toPublicLink(link) });

export const projectLinkRoutes: PlatformRoute[] = [
  { method: 'post', path: '/project-links', scope: 'project-links:write', status: 201, answer: postLink },
  { method: 'get', path: '/project-links', scope: 'project-links:read', answer: listLinks },
  { method: 'get', path: '/project-links/{id}', scope: 'project-links:read', answer: (call) => one(findLink(call)) },
  { method: 'delete', path: '/project-links/{id}', scope: 'project-links:write', answer: removeLink },
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
