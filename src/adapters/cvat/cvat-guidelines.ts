import { AppError } from '../../domain/errors.ts';
import type { Adapter } from '../adapter.ts';
import { type CvatApi, isExactly } from './cvat-api.ts';
import { type CvatSettings, Guide, GuidedPage } from './cvat-schema.ts';

/** The guide of a project, which every job of the project shows. A project has none until one is made. */
export function createCvatGuidelines(
  { organization: org }: CvatSettings,
  api: CvatApi,
): Required<Pick<Adapter, 'readGuidelines' | 'writeGuidelines'>> {
  /**
   * By the list of the organization, because CVAT also answers about a project of another organization in which the
   * token may do the same.
   *
   * @returns null for a project without a guide
   */
  async function findGuide(project: string, purpose: string, signal: AbortSignal): Promise<number | null> {
    const filters = [isExactly('id', toProjectId(project))];
    const call = { path: '/api/projects', query: { org }, filters, purpose, signal };
    for await (const { guide_id: guideId } of api.list(GuidedPage, call)) return guideId ?? null;
    throw new AppError('not_found', `Could not ${purpose}: the organization has no such project`);
  }

  return {
    async readGuidelines(project, signal) {
      const purpose = 'read the guide';
      const id = await findGuide(project, purpose, signal);
      return id === null ? '' : (await api.ask(Guide, { path: `/api/guides/${id}`, purpose, signal })).markdown;
    },

    async writeGuidelines(project, text, signal) {
      const purpose = 'write the guide';
      const id = await findGuide(project, purpose, signal);
      const markdown = withoutAssets(text);
      if (id !== null) {
        await api.send({ method: 'PATCH', path: `/api/guides/${id}`, body: { markdown }, purpose, signal });
      } else if (markdown !== '') {
        const body = { project_id: toProjectId(project), markdown };
        await api.send({ method: 'POST', path: '/api/guides', query: { org }, body, purpose, signal });
      }
    },
  };
}

/** @throws AppError `invalid` for an id that is no number */
function toProjectId(project: string): number {
  if (/^[1-9]\d{0,14}$/.test(project)) return Number(project);
  throw new AppError('invalid', 'A project is a number in CVAT');
}

/** CVAT takes this form for one of the guide's own images, and breaks down where there is none. */
function withoutAssets(markdown: string): string {
  return markdown.replaceAll('(/api/assets/', '(\\/api/assets/');
}
