/** An adapter in a file, which reads the work from another file beside it. */
export const workAdapter = `
import { readFileSync } from 'node:fs';
export default () => ({
  capabilities: {
    removal: { effect: 'locks_out' }, readding: 'yes', exclusive: 'membership',
    usage: { counts: ['seconds', 'tasks', 'labels'], outlivesRemoval: true },
  },
  check: async () => [],
  groupFor: ({ externalProjectId }) => externalProjectId,
  findMember: async (group, { trainerId }) => ({ id: trainerId, email: null }),
  addMember: async (group, { trainerId }) => ({ id: trainerId, email: null }),
  removeMember: async () => undefined,
  usageScopeFor: ({ externalProjectId }) => externalProjectId,
  async *readUsage() {
    yield* JSON.parse(readFileSync(new URL('./work.json', import.meta.url), 'utf8'));
  },
});
`;
