import type { AppError } from '../domain/errors.ts';
import { toSegment } from './id-segment.ts';
import { listWhole } from './list-whole.ts';
import type { NewProjectLink, PlatformApi } from './platform-api.ts';
import type { CallPlatform, PlatformOperation } from './platform-caller.ts';
import { DeletedAnswer, type ProjectLink, ProjectLinkAnswer, ProjectLinkList } from './platform-schema.ts';

type LinkCalls = Pick<PlatformApi, 'listProjectLinks' | 'getProjectLink' | 'createProjectLink' | 'deleteProjectLink'>;

export function createLinkCalls(call: CallPlatform): LinkCalls {
  async function listProjectLinks(signal: AbortSignal): Promise<ProjectLink[]> {
    const purpose = 'list the project links';
    return await listWhole({
      path: '/project-links',
      purpose,
      keyOf: ({ id }) => id,
      async readPage(path) {
        const { projectLinks, ...paging } = await call({ path, purpose, answer: ProjectLinkList }, signal);
        return { records: projectLinks, ...paging };
      },
    });
  }

  /** The link may exist since an attempt whose answer was lost. */
  async function findCreated(wanted: NewProjectLink, refusal: AppError, signal: AbortSignal) {
    const projectLink = (await listProjectLinks(signal)).find((link) => isAs(link, wanted));
    if (projectLink === undefined) throw refusal;
    return { projectLink };
  }

  return {
    listProjectLinks,

    async getProjectLink(linkId, signal) {
      const path = `/project-links/${toSegment(linkId)}`;
      const purpose = 'read a project link';
      return (await call({ path, purpose, answer: ProjectLinkAnswer }, signal)).projectLink;
    },

    async createProjectLink(wanted, signal) {
      const operation: PlatformOperation<{ projectLink: ProjectLink }> = {
        method: 'POST',
        path: '/project-links',
        body: wanted,
        purpose: 'create a project link',
        answer: ProjectLinkAnswer,
        doneBefore: {
          code: 'conflict',
          answer: (refusal) => findCreated(wanted, refusal, signal),
        },
      };
      return (await call(operation, signal)).projectLink;
    },

    async deleteProjectLink(linkId, signal) {
      const path = `/project-links/${toSegment(linkId)}`;
      const operation: PlatformOperation<DeletedAnswer> = {
        method: 'DELETE',
        path,
        purpose: 'delete a project link',
        answer: DeletedAnswer,
        doneBefore: { code: 'not_found', answer: () => ({ deleted: true }) },
      };
      await call(operation, signal);
    },
  };
}

/** Whether the existing link may be the result of this request. */
function isAs(link: ProjectLink, wanted: NewProjectLink): boolean {
  const { externalProjectId, jobId = null, provisioningMode = 'PARTNER_WEBHOOK' } = wanted;
  return (
    link.externalProjectId === externalProjectId &&
    (link.jobId ?? null) === jobId &&
    link.provisioningMode === provisioningMode
  );
}
