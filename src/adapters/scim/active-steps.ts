import { type ScimApi, type ScimCall, toPatch } from './scim-api.ts';
import type { ChangeAttempt } from './try-changes.ts';

/** As in the RFC; as Okta does it; the whole user; and as Entra did before it followed the RFC. */
export function activeSteps(api: ScimApi, active: boolean, hasPatch: boolean, call: ScimCall): ChangeAttempt[] {
  const patch = (operation: object): ChangeAttempt => ({
    send: (resource) => api.change('PATCH', { type: 'Users', resource }, toPatch(operation), call),
  });
  const put: ChangeAttempt = {
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
