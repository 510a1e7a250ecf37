import { AppError } from '../../domain/errors.ts';
import { isNumericId } from '../values.ts';
import { type Cvat, isExactly, listAll, withQuery } from './cvat-api.ts';
import { Guide, GuidedPage } from './cvat-schema.ts';

/** The guide of a project, which every job of the project shows. A project has none until one is made. */

export async function readGuide(cvat: Cvat, project: string, signal: AbortSignal): Promise<string> {
  const purpose = 'read the guide';
  const id = await findGuide(cvat, project, purpose, signal);
  if (id === null) return '';
  return (await cvat.api.call({ path: `/api/guides/${id}`, purpose, answer: Guide, signal })).markdown;
}

export async function writeGuide(cvat: Cvat, project: string, text: string, signal: AbortSignal): Promise<void> {
  const purpose = 'write the guide';
  const id = await findGuide(cvat, project, purpose, signal);
  // CVAT takes this form for one of the guide's own images, and breaks down where there is none.
  const markdown = text.replaceAll('(/api/assets/', '(\\/api/assets/');
  if (id !== null) {
    await cvat.api.call({ method: 'PATCH', path: `/api/guides/${id}`, body: { markdown }, purpose, signal });
  } else if (markdown !== '') {
    const path = withQuery('/api/guides', { org: cvat.settings.organization });
    await cvat.api.call({ method: 'POST', path, body: { project_id: Number(project), markdown }, purpose, signal });
  }
}

/**
 * By the list of the organization, because CVAT also answers about a project of another organization in which the
 * token may do the same.
 *
 * @returns null for a project without a guide
 * @throws AppError `invalid` for an id that is no number
 */
async function findGuide(cvat: Cvat, project: string, purpose: string, signal: AbortSignal): Promise<number | null> {
  if (!isNumericId(project)) throw new AppError('invalid', 'A project is a number in CVAT');
  const filters = [isExactly('id', Number(project))];
  const call = { path: '/api/projects', query: { org: cvat.settings.organization }, filters, purpose, signal };
  for await (const { guide_id: guideId } of listAll(cvat, GuidedPage, call)) return guideId ?? null;
  throw new AppError('not_found', `Could not ${purpose}: the organization has no such project`);
}
