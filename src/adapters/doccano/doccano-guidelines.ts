import type { RestClient } from '../../lib/rest-client.ts';
import type { Adapter } from '../adapter.ts';
import { projectPath } from './doccano-api.ts';
import { Project } from './doccano-schema.ts';

/** The guideline of a project, which its members open beside an example. */
export function createDoccanoGuidelines(
  api: RestClient,
): Required<Pick<Adapter, 'readGuidelines' | 'writeGuidelines'>> {
  return {
    async readGuidelines(project, signal) {
      const request = { path: projectPath(project), purpose: 'read the guideline' };
      return (await api.call({ ...request, answer: Project, signal })).guideline ?? '';
    },

    async writeGuidelines(project, guideline, signal) {
      const path = projectPath(project);
      await api.call({ method: 'PATCH', path, body: { guideline }, purpose: 'write the guideline', signal });
    },
  };
}
