import { brokenDown, type CvatAnswer, refuse } from './cvat-answer.ts';
import type { CvatGuide, CvatState } from './cvat-state.ts';

/**
 * The guides of projects, by what CVAT's own code of 2.54 and later says (the permissions, the serializer and the
 * model of guides). Not seen on a server.
 */
export function createCvatGuides(state: CvatState) {
  function orgOf(projectId: number): string | undefined {
    return state.work.projects.find(({ id }) => id === projectId)?.org;
  }

  function ofProject(projectId: number): CvatGuide | undefined {
    return state.guides.find((one) => one.projectId === projectId);
  }

  /** By the token's user, who is in no group of administrators. */
  function mayChange(org: string | undefined): boolean {
    const role = state.membershipOf(org ?? '', state.own.id)?.role ?? '';
    return role === 'owner' || role === 'maintainer';
  }

  /** @returns undefined if it may be stored */
  function refusalOf(text: unknown): CvatAnswer | undefined {
    const says = text === null ? 'This field may not be null.' : 'Null characters are not allowed.';
    const isText = typeof text === 'string' && !text.includes('\0');
    return isText ? undefined : { status: 400, body: { markdown: [says] } };
  }

  /** An image that the guide does not have is an error. Here no guide has images. */
  function store(guide: CvatGuide, text: string): CvatAnswer | undefined {
    if (/\(\/api\/assets\/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\)/i.test(text)) return brokenDown;
    guide.markdown = text.trim();
    return undefined;
  }

  const toAnswer = (status: number, { id, projectId, markdown }: CvatGuide): CvatAnswer => ({
    status,
    body: { id, task_id: null, project_id: projectId, markdown },
  });

  return {
    ofProject,

    /** The organization is that of the request, and the project must be in it. */
    create(body: Record<string, unknown>, org: string): CvatAnswer {
      const { project_id: projectId, markdown = '' } = body;
      const projectOrg = orgOf(Number(projectId));
      if (projectOrg === undefined) return { status: 400, body: ['Project matching query does not exist.'] };
      if (projectOrg !== org || !mayChange(org)) return refuse(403, 'not allowed');
      if (ofProject(Number(projectId)) !== undefined) return brokenDown;
      const refusal = refusalOf(markdown);
      if (refusal !== undefined) return refusal;
      const guide = state.addGuide(Number(projectId), '');
      const failure = store(guide, String(markdown));
      if (failure === undefined) return toAnswer(201, guide);
      state.guides.pop();
      return failure;
    },

    /** The organization is always that of the project. */
    show(id: number): CvatAnswer {
      const guide = state.guides.find((one) => one.id === id);
      if (guide === undefined) return refuse(404, 'Not found.');
      return mayChange(orgOf(guide.projectId)) ? toAnswer(200, guide) : refuse(403, 'not allowed');
    },

    change(id: number, { markdown }: Record<string, unknown>): CvatAnswer {
      const guide = state.guides.find((one) => one.id === id);
      if (guide === undefined) return refuse(404, 'Not found.');
      if (!mayChange(orgOf(guide.projectId))) return refuse(403, 'not allowed');
      return refusalOf(markdown) ?? store(guide, String(markdown)) ?? toAnswer(200, guide);
    },
  };
}
