import type { Adapter } from '../../adapters/adapter.ts';
import type { LinkEvidence } from '../../domain/evidence.ts';
import { statusOfLink } from '../../domain/evidence-status.ts';
import type { RouteLink } from '../../memberships/link-router.ts';
import { usageScopeOf } from '../../memberships/wall.ts';

/** Where the work on a link's project is counted. */
export interface LinkScope {
  tool: string;
  scope: string;
  groupId: string;
  timeZone: string;
}

/** Undefined for a link outside its install's projects, and where its tool tells no work. */
export type ScopeOf = (link: LinkedProject) => LinkScope | undefined;

export type LinkedProject = Pick<LinkEvidence, 'install' | 'externalProjectId' | 'externalProjectName'>;

interface ScopesDeps {
  adapters: ReadonlyMap<string, Adapter>;
  routeLink: RouteLink;
  /** By `externalProjectId`. */
  links: ReadonlyMap<string, { timeZone: string }>;
}

export function createScopeOf({ adapters, routeLink, links }: ScopesDeps): ScopeOf {
  return (link) => {
    const route = routeLink(link);
    if (route === undefined) return undefined;
    const adapter = adapters.get(route.tool);
    const scope = adapter?.readUsage && usageScopeOf(adapter, link);
    if (scope === undefined) return undefined;
    return { ...route, scope, timeZone: timeZoneOf(links, link.externalProjectId) };
  };
}

export function timeZoneOf(links: ScopesDeps['links'], externalProjectId: string | null): string {
  return links.get(externalProjectId ?? '')?.timeZone ?? 'UTC';
}

/** A scope with the groups whose members work there. */
export interface WorkScope {
  tool: string;
  scope: string;
  timeZone: string;
  groupIds: string[];
  /** Whether a live link leads there. */
  isLinked: boolean;
}

/**
 * The scopes where somebody may work: of links that are live, and of those that are not while
 * somebody is still in their group. By tool and scope; pure.
 */
export function findScopes(
  links: readonly LinkEvidence[],
  scopeOf: ScopeOf,
  /** `tool group` of every group that somebody is in. */
  inhabited: (group: { tool: string; groupId: string }) => boolean,
): Map<string, WorkScope> {
  const scopes = new Map<string, WorkScope>();
  for (const link of links) {
    const at = scopeOf(link);
    const isLive = statusOfLink(link) === 'live';
    if (at === undefined || !(isLive || inhabited(at))) continue;
    const { tool, scope, timeZone, groupId } = at;
    const none = { tool, scope, timeZone, groupIds: [], isLinked: false };
    const workScope: WorkScope = scopes.get(scopeKey(at)) ?? none;
    workScope.isLinked ||= isLive;
    if (!workScope.groupIds.includes(groupId)) workScope.groupIds.push(groupId);
    scopes.set(scopeKey(at), workScope);
  }
  return scopes;
}

export function scopeKey({ tool, scope }: { tool: string; scope: string }): string {
  return JSON.stringify([tool, scope]);
}
