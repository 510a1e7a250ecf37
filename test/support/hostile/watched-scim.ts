import { scimAdapter } from '../scim-settings.ts';
import { openScimTool } from '../scim-tool.ts';
import { hasAddressOf, type OpenWatchedTool } from './watched-tool.ts';

const oneGroup = 'annotators';

/** By the adapter `scim`, which deactivates the accounts of people who are out. */
export const openWatchedScim: OpenWatchedTool = async ({ isOneForAll = false }) => {
  const tool = await openScimTool();
  const groupOf = (project: string) => (isOneForAll ? oneGroup : project);
  return {
    adapter: scimAdapter(tool, isOneForAll ? { group: oneGroup } : {}),
    groupOf,
    watch: (listener) => {
      tool.watch = listener;
    },
    seed({ name, email, isActive, groups }) {
      const user = { userName: email, displayName: name, active: isActive };
      const id = tool.seed({ ...user, emails: [{ value: email, primary: true }] });
      for (const group of new Set(groups.map(groupOf))) {
        if (tool.group(group) === undefined) tool.remakeGroup(group);
        tool.seedMember(group, id);
      }
      return [id];
    },
    standing: () => ({
      accounts: new Map(
        tool.users().map(({ id, userName, ...rest }) => [id, { email: userName, rest: JSON.stringify(rest) }]),
      ),
      members: tool.groups(),
    }),
    isAccountOf: (person, _account, state) => hasAddressOf(person, state),
  };
};
