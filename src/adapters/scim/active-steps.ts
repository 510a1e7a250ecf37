import type { Step } from './climb.ts';
import { type Call, type ScimApi, toPatch } from './scim-api.ts';

/** As the RFC has it; as Okta does; whole; and as Entra did before it followed the RFC. */
export function activeSteps(api: ScimApi, active: boolean, hasPatch: boolean, call: Call): Step[] {
  const patch = (operation: object): Step => ({
    send: (resource) => api.change('PATCH', { type: 'Users', resource }, toPatch(operation), call),
  });
  const put: Step = {
    send: (resource) => api.change('PUT', { type: 'Users', resource }, { ...resource, active }, call),
  };
  if (!hasPatch) return [put];
  return [
    patch({ op: 'replace', path: 'active', value: active }),
    patch({ op: 'replace', value: { active } }),
    put,
    patch({ op: 'Replace', path: 'active', value: active ? 'True' : 'False' }),
  ];
}
