import type { Adapter, Member, Person } from '../adapter.ts';
import { readRoster, writeRoster } from './roster-file.ts';
import type { RosterMember, RosterSettings } from './roster-schema.ts';

/**
 * A JSON file as a tool (design section 7): for tools that read their members from one, and for
 * trying Gangway out. Being off the list is being out.
 */
export function createRosterAdapter({ path: file }: RosterSettings): Adapter {
  /** Groups as a Map: their ids come from customers, who may call a project `__proto__`. */
  async function readGroups(signal: AbortSignal) {
    const roster = await readRoster(file, signal);
    return { roster, groups: new Map(Object.entries(roster.groups)) };
  }

  async function change(
    groupId: string,
    signal: AbortSignal,
    edit: (members: RosterMember[]) => RosterMember[],
  ): Promise<void> {
    const { roster, groups } = await readGroups(signal);
    groups.set(groupId, edit(groups.get(groupId) ?? []));
    signal.throwIfAborted();
    await writeRoster(file, { ...roster, groups: Object.fromEntries(groups) });
  }

  return {
    capabilities: {
      removal: { effect: 'locks_out' },
      readding: 'yes',
      exclusive: 'tool',
    },

    async check(signal) {
      const { roster } = await readGroups(signal);
      await writeRoster(file, roster);
    },

    groupFor: (link) => link.externalProjectId,

    async findMember(groupId, person, signal) {
      const { groups } = await readGroups(signal);
      const member = groups.get(groupId)?.find(({ id }) => id === person.trainerId);
      return member === undefined ? null : toMember(member);
    },

    async addMember(groupId, person, signal) {
      const added = toRosterMember(person);
      await change(groupId, signal, (members) =>
        members.some(({ id }) => id === added.id) ? members : [...members, added],
      );
      return toMember(added);
    },

    async removeMember(groupId, member, signal) {
      await change(groupId, signal, (members) => members.filter(({ id }) => id !== member.id));
    },

    async *listMembers(groupId, signal) {
      const { groups } = await readGroups(signal);
      yield* (groups.get(groupId) ?? []).map(toMember);
    },
  };
}

function toRosterMember({ trainerId, email, displayName }: Person): RosterMember {
  return { id: trainerId, email, displayName: displayName ?? '', status: 'active' };
}

function toMember({ id, email }: RosterMember): Member {
  return { id, email };
}
