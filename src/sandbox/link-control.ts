import { AppError } from '../domain/errors.ts';
import type { Relink } from './control-request-schema.ts';
import { findInstall } from './install-control.ts';
import type { Marketplace } from './marketplace.ts';
import { addLink, dropLink, requireLinkable } from './project-links.ts';
import type { Install, ProjectLink } from './sandbox-state.ts';

/** What customers do with links, beside what platforms do by the API. */

export function removeLink(marketplace: Marketplace, linkId: string): ProjectLink {
  const { link, install } = findLiveLink(marketplace, linkId);
  dropLink(marketplace, install, link);
  return { ...link };
}

/** Nothing changes a link: to point it elsewhere is to delete it and to create another. */
export function relink(marketplace: Marketplace, linkId: string, changes: Relink = {}): ProjectLink {
  const { link: replaced, install } = findLiveLink(marketplace, linkId);
  const wanted = {
    ...replaced,
    jobId: changes.jobId === undefined ? replaced.jobId : changes.jobId,
    externalProjectId: changes.externalProjectId ?? replaced.externalProjectId,
    provisioningMode: changes.provisioningMode ?? replaced.provisioningMode,
  };
  // Before anything is deleted: what is refused has changed nothing.
  requireLinkable(marketplace, install, wanted, replaced);
  dropLink(marketplace, install, replaced);
  return { ...addLink(marketplace, install, wanted) };
}

/** What a revoked install has left behind is out of reach, and its endpoints hear of nothing. */
function findLiveLink({ state }: Marketplace, linkId: string): { link: ProjectLink; install: Install } {
  const link = state.links.get(linkId);
  if (link === undefined) throw new AppError('not_found', `No project link ${linkId}`);
  const install = findInstall(state, link.installId);
  if (install.status === 'ACTIVE') return { link, install };
  throw new AppError('conflict', `The install of project link ${linkId} is revoked`);
}
