import { AppError } from '../../domain/errors.ts';
import { unless } from '../tool-request.ts';
import type { Discovery } from './discovery.ts';
import { createGroupFinder, quote } from './find-groups.ts';
import { createMemberSteps, type OthersAdded } from './member-steps.ts';
import { entriesOf, groupSchema, memberIds, type Resource } from './resource.ts';
import type { ScimApi, ScimCall } from './scim-api.ts';
import type { ScimSettings } from './scim-schema.ts';
import type { Search } from './search.ts';

/** Groups by their display names, and their members. */
export interface Groups {
  /** With its members; null if no group has the name. */
  read(name: string, signal: AbortSignal): Promise<Resource | null>;
  /** Sends the addition. Whether it had an effect, only a look shows. `othersAdded` as in `Person`. */
  add(name: string, userId: string, othersAdded: OthersAdded, signal: AbortSignal): Promise<void>;
  /**
   * Sends the removal even if the list does not show the member.
   *
   * @returns `unproven` if the group shows no member after it, as on a server that never shows members
   */
  remove(name: string, userId: string, signal: AbortSignal): Promise<'unproven' | undefined>;
}

export interface GroupDeps {
  api: ScimApi;
  search: Search;
  discovery: Discovery;
  settings: ScimSettings;
}

export function createGroups({ api, search, discovery, settings }: GroupDeps): Groups {
  const finder = createGroupFinder(api, search);
  const members = createMemberSteps(api, finder);

  /** With the member in it. */
  async function create(name: string, userId: string, signal: AbortSignal): Promise<Resource> {
    if (!settings.createGroups) {
      const remedy = 'create it there, or set "createGroups": true';
      throw new AppError('invalid', `The tool has no group ${quote(name)}: ${remedy}`);
    }
    const call: ScimCall = { purpose: 'create the group', hidden: [userId], signal };
    const body = { schemas: [groupSchema], displayName: name, members: [{ value: userId }] };
    const answer = await unless([409], api.post('/Groups', body, call));
    const group = await finder.byName(name, signal);
    if (group !== null) return group;
    if (answer === null) {
      const why = `one is in the way, which may be ${quote(name)} in another case`;
      throw new AppError('conflict', `Could not create the group: ${why}`, { status: 409 });
    }
    throw new AppError('unavailable', 'The tool says it made the group but does not show it');
  }

  return {
    read: finder.byName,

    async add(name, userId, othersAdded, signal) {
      const found = await finder.byName(name, signal);
      const group = found ?? (await create(name, userId, signal));
      if (memberIds(group).has(userId)) return;
      const { hasPatch } = await discovery.read(signal);
      await members.add(group, userId, othersAdded, { hasPatch, signal });
    },

    async remove(name, userId, signal) {
      const group = await finder.byName(name, signal);
      if (group === null) return undefined;
      const { hasPatch } = await discovery.read(signal);
      if (memberIds(group).has(userId)) {
        await members.remove(group, userId, { hasPatch, signal });
        return undefined;
      }
      // Not shown is not out: the server may not show its members, or show them late.
      await members.removeUnseen(group, userId, { hasPatch, signal });
      return entriesOf(group).length > 0 ? undefined : 'unproven';
    },
  };
}
