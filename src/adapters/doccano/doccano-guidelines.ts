import type { Adapter } from '../adapter.ts';
import { type DoccanoApi, projectPath } from './doccano-api.ts';
import { Project } from './doccano-schema.ts';

/** The guideline of a project, which its members open as a page. */
export function createDoccanoGuidelines(
  api: DoccanoApi,
): Required<Pick<Adapter, 'readGuidelines' | 'writeGuidelines'>> {
  async function readProject(project: string, signal: AbortSignal) {
    return await api.send({ path: projectPath(project), purpose: 'read the guideline' }, Project, signal);
  }

  return {
    readGuidelines: async (project, signal) => (await readProject(project, signal)).guideline ?? '',

    async writeGuidelines(project, guideline, signal) {
      // doccano must be reminded of the type of a project with every change of it.
      const { resourcetype } = await readProject(project, signal);
      const body = { ...(resourcetype !== undefined && { resourcetype }), guideline };
      const request = { method: 'PATCH', path: projectPath(project), body, purpose: 'write the guideline' } as const;
      await api.run(request, signal);
    },
  };
}
