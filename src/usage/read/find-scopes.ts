import type { Context } from '../../context.ts';
import type { LinkEvidence } from '../../domain/evidence.ts';
import { statusOfLink } from '../../domain/evidence-status.ts';
import { usageScopeOf } from '../../memberships/wall.ts';

/** The work scope of a link, with the group and the time zone of its project. */
export interface LinkScope {
  install: string;
  tool: string;
  scope: string;
  groupId: string;
  timeZone: string;
}

export type LinkedProject = Pick<LinkEvidence, 'install' | 'externalProjectId' | 'externalProjectName'>;

/** Undefined for a link outside the projects of its install, and where the tool cannot read work. */
export function scopeOfLink(ctx: Context, link: LinkedProject): LinkScope | undefined {
  const route = ctx.routeLink(link);
  if (route === undefined) return undefined;
  const adapter = ctx.adapters.get(route.tool);
  const scope = adapter?.readUsage && usageScopeOf(adapter, link);
  if (scope === undefined) return undefined;
  return { ...route, install: link.install, scope, timeZone: timeZoneOf(ctx, link.externalProjectId) };
}

export function timeZoneOf({ config }: Context, externalProjectId: string | null): string {
  return config.links.get(externalProjectId ?? '')?.timeZone ?? 'UTC';
}

/** A work scope, with the groups whose members work in it. */
export interface WorkScope {
  /** Of one link that leads to it. */
  install: string;
  tool: string;
  scope: string;
  timeZone: string;
  groupIds: string[];
  /** Whether a live link leads to it. */
  isLinked: boolean;
}

/**
 * Finds the scopes in which trainers may work: those of live links, and those of other links whose group still has
 * members. The map's keys are `scopeKey`. Pure.
 */
export function findScopes(
  links: readonly LinkEvidence[],
  scopeOf: (link: LinkedProject) => LinkScope | undefined,
  /** Whether a group has members. */
  inhabited: (group: { tool: string; groupId: string }) => boolean,
): Map<string, WorkScope> {
  const scopes = new Map<string, WorkScope>();
  for (const link of links) {
    const at = scopeOf(link);
    const isLive = statusOfLink(link) === 'live';
    if (at === undefined || !(isLive || inhabited(at))) continue;
    const { groupId, ...found } = at;
    const none = { ...found, groupIds: [], isLinked: false };
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
