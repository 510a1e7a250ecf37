import { AppError } from '../../domain/errors.ts';
import { isPathSegment } from '../../lib/path-segment.ts';
import { unless } from '../tool-request.ts';
import { type Resource, rawMembersOf, textAt, toResource } from './resource.ts';
import { pathOf, type ScimApi, type ScimCall } from './scim-api.ts';
import type { Search } from './search.ts';

/** Finds groups by their exact display names, because strangers choose the names of projects. */
export interface GroupFinder {
  /** With its members; null if no group has the name. */
  byName(name: string, signal: AbortSignal): Promise<Resource | null>;
  byId(id: string, signal: AbortSignal): Promise<Resource | null>;
}

export function createGroupFinder(api: ScimApi, search: Search): GroupFinder {
  /** The last known id of each group. It is read first; if it is another group now, the name is searched. */
  const idsByName = new Map<string, string>();

  async function byId(id: string, signal: AbortSignal): Promise<Resource | null> {
    const call = { purpose: 'read the group', signal };
    const group = toResource(await unless([404, 410], api.get(pathOf('Groups', id), {}, call)));
    if (group === undefined) return null;
    return rawMembersOf(group) === undefined ? await withMembers(group, call) : group;
  }

  /** Some servers show the members only on request (RFC 7643, "returned"). Others leave out an empty list. */
  async function withMembers(group: Resource, call: ScimCall): Promise<Resource> {
    const query = { attributes: 'displayName,members' };
    const answer = await unless([400, 404, 410, 501], api.get(pathOf('Groups', group.id), query, call));
    const shown = toResource(answer);
    const members = shown?.id === group.id ? rawMembersOf(shown) : undefined;
    return members === undefined ? group : { ...group, members };
  }

  async function idOf(name: string, signal: AbortSignal): Promise<string | undefined> {
    const call = { purpose: 'find the group', signal };
    const also = { excludedAttributes: 'members' };
    const filter = { attribute: 'displayName', value: name, isNeeded: true, also };
    const ids = new Set<string>();
    for await (const group of search.by('Groups', filter, call)) {
      if (isNamed(group, name)) ids.add(group.id);
    }
    if (ids.size > 1) {
      throw new AppError('invalid', `${ids.size} groups of the tool are called ${quote(name)}`);
    }
    return [...ids][0];
  }

  return {
    byId,

    async byName(name, signal) {
      const knownId = idsByName.get(name);
      const known = knownId === undefined ? null : await byId(knownId, signal);
      if (known !== null && isNamed(known, name)) return known;
      const id = await idOf(name, signal);
      if (id === undefined && !isPathSegment(name)) return null;
      // Some servers know groups only by their names.
      const group = await byId(id ?? name, signal);
      if (group === null || !isNamed(group, name)) return null;
      idsByName.set(name, group.id);
      return group;
    },
  };
}

function isNamed(group: Resource, name: string): boolean {
  return textAt(group, 'displayName') === name;
}

/** A name for an error. It may be long and contain anything. */
export function quote(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}
