import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Adapter } from '../../../src/adapters/adapter.ts';
import { createAdapter } from '../../../src/adapters/create-adapter.ts';
import { createFolder } from '../folder.ts';
import type { OpenWatchedTool } from './watched-tool.ts';

interface Entry {
  id: string;
  email: string;
  displayName: string;
  status: string;
}

/** One id may stand in several groups, and is another person in each. */
const keyOf = (group: string, id: string) => `${group}: ${id}`;

/** The file of a roster; each entry in it counts as an account of its own, as it has no others. */
export const openWatchedRoster: OpenWatchedTool = async () => {
  const file = path.join(createFolder(), 'roster.json');
  writeFileSync(file, '{"groups": {}}');
  const read = () => Object.entries((JSON.parse(readFileSync(file, 'utf8')) as Roster).groups) as [string, Entry[]][];
  const { adapter, watch } = watchChanges(createAdapter('studio', 'roster', { path: file }));
  return {
    adapter,
    watch,
    groupOf: (project) => project,
    idOf: (account) => account.slice(account.indexOf(': ') + 2),
    seed({ name: id, email, groups }) {
      const roster = new Map(read());
      const entry = { id, email, displayName: id, status: 'active' };
      for (const group of groups) roster.set(group, [...(roster.get(group) ?? []), entry]);
      writeFileSync(file, JSON.stringify({ groups: Object.fromEntries(roster) }));
      return groups.map((group) => keyOf(group, id));
    },
    standing() {
      const groups = read();
      const entries = groups.flatMap(([group, members]) =>
        members.map(({ id, email, ...rest }) => [keyOf(group, id), { email, rest: JSON.stringify(rest) }] as const),
      );
      return {
        accounts: new Map(entries),
        members: new Map(groups.map(([group, members]) => [group, members.map(({ id }) => keyOf(group, id))])),
      };
    },
    isAccountOf: ({ trainerId, projects }, account) =>
      [...projects].some((project) => account === keyOf(project, trainerId)),
  };
};

interface Roster {
  groups: object;
}

/** Nothing else changes the file, and one call at a time. */
function watchChanges(adapter: Adapter) {
  let tellWatcher: (call: string) => void = () => undefined;
  const watched: Adapter = {
    ...adapter,
    async addMember(group, person, signal) {
      const added = await adapter.addMember(group, person, signal);
      tellWatcher(`add ${group}/${person.trainerId}`);
      return added;
    },
    async removeMember(group, member, signal) {
      await adapter.removeMember(group, member, signal);
      tellWatcher(`remove ${group}/${member.id}`);
    },
    async updateEmail(group, member, email, signal) {
      await adapter.updateEmail?.(group, member, email, signal);
      tellWatcher(`update ${group}/${member.id} ${email}`);
    },
  };
  const watch = (listener: (call: string) => void) => {
    tellWatcher = listener;
  };
  return { adapter: watched, watch };
}
