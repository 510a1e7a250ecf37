import { AppError } from '../../domain/errors.ts';
import { unless } from '../tool-request.ts';
import type { Discovery } from './discovery.ts';
import { createGroupFinder, quote } from './find-groups.ts';
import { createMemberSteps } from './member-steps.ts';
import { groupSchema, memberIds, type Resource } from './resource.ts';
import type { ScimApi, ScimCall } from './scim-api.ts';
import type { ScimSettings } from './scim-schema.ts';
import type { Search } from './search.ts';
import { type ChangeAttempt, tryChanges } from './try-changes.ts';

/** Groups by their display names, and their members. */
export interface Groups {
  /** With its members; null if no group has the name. */
  read(name: string, signal: AbortSignal): Promise<Resource | null>;
  add(name: string, userId: string, signal: AbortSignal): Promise<void>;
  remove(name: string, userId: string, signal: AbortSignal): Promise<void>;
}

export interface GroupDeps {
  api: ScimApi;
  search: Search;
  discovery: Discovery;
  settings: ScimSettings;
}

export function createGroups({ api, search, discovery, settings }: GroupDeps): Groups {
  const finder = createGroupFinder(api, search);
  const { toAdd, toRemove } = createMemberSteps(api, finder);

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

  async function change(
    group: Resource,
    did: string,
    attempts: readonly ChangeAttempt[],
    isDone: (members: Set<string>) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    await tryChanges(group, {
      did,
      attempts,
      read: () => finder.byId(group.id, signal),
      isDone: (current) => isDone(current === null ? new Set() : memberIds(current)),
    });
  }

  return {
    read: finder.byName,

    async add(name, userId, signal) {
      const found = await finder.byName(name, signal);
      const group = found ?? (await create(name, userId, signal));
      if (memberIds(group).has(userId)) return;
      const { hasPatch } = await discovery.read(signal);
      const steps = toAdd([{ value: userId }], hasPatch, { purpose: 'add the member', signal });
      await change(group, 'added the member', steps, (ids) => ids.has(userId), signal);
    },

    async remove(name, userId, signal) {
      const group = await finder.byName(name, signal);
      if (group === null || !memberIds(group).has(userId)) return;
      const { hasPatch } = await discovery.read(signal);
      const steps = toRemove(userId, hasPatch, { purpose: 'remove the member', signal });
      await change(group, 'removed the member', steps, (ids) => !ids.has(userId), signal);
    },
  };
}
