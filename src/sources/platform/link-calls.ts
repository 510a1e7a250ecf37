import type { AppError } from '../../domain/errors.ts';
import type { Call, Operation } from '../http/caller.ts';
import { toSegment } from '../http/id-segment.ts';
import { listWhole } from '../http/list-whole.ts';
import type { Link, NewLink, Source } from '../source.ts';
import { DeletedAnswer, ProjectLinkAnswer, ProjectLinkList } from './platform-schema.ts';

type LinkCalls = Pick<Required<Source>, 'listLinks' | 'readLink' | 'createLink' | 'deleteLink'>;

export function createLinkCalls(call: Call): LinkCalls {
  async function listLinks(signal: AbortSignal): Promise<Link[]> {
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
  async function findCreated(wanted: NewLink, refusal: AppError, signal: AbortSignal) {
    const projectLink = (await listLinks(signal)).find((link) => isAs(link, wanted));
    if (projectLink === undefined) throw refusal;
    return { projectLink };
  }

  return {
    listLinks,

    async readLink(linkId, signal) {
      const path = `/project-links/${toSegment(linkId)}`;
      const purpose = 'read a project link';
      return (await call({ path, purpose, answer: ProjectLinkAnswer }, signal)).projectLink;
    },

    async createLink(wanted, signal) {
      const operation: Operation<{ projectLink: Link }> = {
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

    async deleteLink(linkId, signal) {
      const path = `/project-links/${toSegment(linkId)}`;
      const operation: Operation<DeletedAnswer> = {
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
function isAs(link: Link, wanted: NewLink): boolean {
  const { externalProjectId, jobId = null, provisioningMode = 'PARTNER_WEBHOOK' } = wanted;
  return (
    link.externalProjectId === externalProjectId &&
    (link.jobId ?? null) === jobId &&
    link.provisioningMode === provisioningMode
  );
}
