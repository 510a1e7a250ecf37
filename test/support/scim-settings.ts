import { createScimAdapter } from '../../src/adapters/scim/scim-adapter.ts';
import { ScimSettings } from '../../src/adapters/scim/scim-schema.ts';

/** Everything that a tool's settings may leave out, left out, but for groups that are not there. */
export function scimSettings(tool: { url: string; token: string }, more: object = {}): object {
  const { url, token } = tool;
  return { url, token, offboarding: 'deactivate', createGroups: true, ...more };
}

export function scimAdapter(tool: { url: string; token: string }, more: object = {}) {
  return createScimAdapter(ScimSettings.parse(scimSettings(tool, more)));
}
