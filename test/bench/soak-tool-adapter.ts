import type { Adapter, Member, UsageObservation } from '../../src/adapters/adapter.ts';
import type { AdapterKit } from '../../src/adapters/kit.ts';

/** The tool of `soak-tool.ts`, as a file that a bridge loads: `{"adapter": "<this file>", "url": "…"}`. */
export default ({ settings, request, pathSegment }: AdapterKit): Adapter => {
  const root = String(settings['url']);
  const of = (group: string, id = '') => `${root}/groups/${pathSegment(group)}/${id && pathSegment(id)}`;
  return {
    capabilities: {
      removal: { effect: 'locks_out' },
      readding: 'yes',
      exclusive: 'membership',
      usage: { counts: ['seconds'], outlivesRemoval: true },
    },
    async check(signal) {
      await request({ url: `${root}/`, purpose: 'look at the tool', signal });
      return [];
    },
    groupFor: ({ externalProjectId }) => externalProjectId,
    async findMember(group, { trainerId }, signal) {
      const { body } = await request({ url: of(group, trainerId), purpose: 'look', signal });
      return (body as { member: Member | null }).member;
    },
    async addMember(group, { trainerId }, signal) {
      const { body } = await request({ method: 'PUT', url: of(group, trainerId), purpose: 'add', signal });
      return (body as { member: Member }).member;
    },
    async removeMember(group, { id }, signal) {
      await request({ method: 'DELETE', url: of(group, id), purpose: 'remove', signal });
    },
    async *listMembers(group, signal) {
      const { body } = await request({ url: of(group), purpose: 'list', signal });
      yield* (body as { members: Member[] }).members;
    },
    usageScopeFor: ({ externalProjectId }) => externalProjectId,
    async *readUsage(scope, { changedSince }, signal) {
      const since = changedSince === null ? '' : `?since=${encodeURIComponent(changedSince)}`;
      const url = `${root}/work/${pathSegment(scope)}${since}`;
      const { body } = await request({ url, purpose: 'read the work', signal });
      yield* (body as { work: UsageObservation[] }).work;
    },
  };
};
