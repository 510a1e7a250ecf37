import type { Adapter, Member } from '../adapter.ts';
import { changeRoster, checkWritable, readRoster } from './roster-file.ts';
import type { RosterMember, RosterSettings } from './roster-schema.ts';

const capabilities: Adapter['capabilities'] = {
  removal: { effect: 'locks_out' },
  readding: 'yes',
  exclusive: 'tool',
  endsWithProcess: true,
};

/**
 * A JSON file as a tool (design section 7): for tools that read their members from a file, and to try
 * Gangway out. A person who is not on the list is out.
 */
export function createRosterAdapter({ path: file }: RosterSettings): Adapter {
  const change = (groupId: string, signal: AbortSignal, edit: (members: RosterMember[]) => RosterMember[]) =>
    changeRoster(file, signal, ({ groups }) => {
      groups.set(groupId, edit(groups.get(groupId) ?? []));
    });

  return {
    capabilities,

    async check(signal) {
      await readRoster(file, signal);
      await checkWritable(file);
      return [];
    },

    groupFor: (link) => link.externalProjectId,

    async findMember(groupId, person, signal) {
      const { groups } = await readRoster(file, signal);
      const member = groups.get(groupId)?.find(({ id }) => id === person.trainerId);
      return member === undefined ? null : toMember(member);
    },

    async addMember(groupId, { trainerId, email, displayName }, signal) {
      const added: RosterMember = { id: trainerId, email, displayName: displayName ?? '', status: 'active' };
      let isThere = false;
      await change(groupId, signal, (members) => {
        isThere = members.some(({ id }) => id === added.id);
        return isThere ? members : [...members, added];
      });
      // The entry in the file is the account.
      return { ...toMember(added), account: isThere ? 'found' : 'made' };
    },

    async removeMember(groupId, member, signal) {
      await change(groupId, signal, (members) => members.filter(({ id }) => id !== member.id));
    },

    updateEmail: (groupId, { id }, email, signal) =>
      change(groupId, signal, (members) => members.map((member) => (member.id === id ? { ...member, email } : member))),

    async *listMembers(groupId, signal) {
      const { groups } = await readRoster(file, signal);
      yield* (groups.get(groupId) ?? []).map(toMember);
    },
  };
}

function toMember({ id, email }: RosterMember): Member {
  return { id, email };
}
