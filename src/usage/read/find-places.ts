import type { Adapter } from '../../adapters/adapter.ts';
import type { LinkEvidence } from '../../domain/evidence.ts';
import { statusOfLink } from '../../domain/evidence-status.ts';
import type { RouteLink } from '../../memberships/link-router.ts';
import { usageScopeOf } from '../../memberships/wall.ts';

/** Where the work on a link's project is counted. */
export interface LinkPlace {
  tool: string;
  scope: string;
  groupId: string;
  timeZone: string;
}

/** Undefined for a link outside its install's projects, and where its tool tells no work. */
export type PlaceOf = (link: LinkedProject) => LinkPlace | undefined;

export type LinkedProject = Pick<LinkEvidence, 'install' | 'externalProjectId' | 'externalProjectName'>;

interface PlacesDeps {
  adapters: ReadonlyMap<string, Adapter>;
  routeLink: RouteLink;
  /** By `externalProjectId`. */
  links: ReadonlyMap<string, { timeZone: string }>;
}

export function createPlaceOf({ adapters, routeLink, links }: PlacesDeps): PlaceOf {
  return (link) => {
    const route = routeLink(link);
    if (route === undefined) return undefined;
    const adapter = adapters.get(route.tool);
    const scope = adapter?.readUsage && usageScopeOf(adapter, link);
    if (scope === undefined) return undefined;
    return { ...route, scope, timeZone: timeZoneOf(links, link.externalProjectId) };
  };
}

export function timeZoneOf(links: PlacesDeps['links'], externalProjectId: string | null): string {
  return links.get(externalProjectId ?? '')?.timeZone ?? 'UTC';
}

/** A place with the groups whose members work there. */
export interface Place {
  tool: string;
  scope: string;
  timeZone: string;
  groupIds: string[];
  /** Whether a live link leads there. */
  isLinked: boolean;
}

/**
 * The places where somebody may work: of links that are live, and of those that are not while
 * somebody is still in their group. By tool and scope; pure.
 */
export function findPlaces(
  links: readonly LinkEvidence[],
  placeOf: PlaceOf,
  /** `tool group` of every group that somebody is in. */
  inhabited: (place: { tool: string; groupId: string }) => boolean,
): Map<string, Place> {
  const places = new Map<string, Place>();
  for (const link of links) {
    const at = placeOf(link);
    const isLive = statusOfLink(link) === 'live';
    if (at === undefined || !(isLive || inhabited(at))) continue;
    const { tool, scope, timeZone, groupId } = at;
    const none = { tool, scope, timeZone, groupIds: [], isLinked: false };
    const place: Place = places.get(placeKey(at)) ?? none;
    place.isLinked ||= isLive;
    if (!place.groupIds.includes(groupId)) place.groupIds.push(groupId);
    places.set(placeKey(at), place);
  }
  return places;
}

export function placeKey({ tool, scope }: { tool: string; scope: string }): string {
  return JSON.stringify([tool, scope]);
}
