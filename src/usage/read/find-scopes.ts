import type { Context } from '../../context.ts';
import type { LinkEvidence } from '../../domain/evidence.ts';
import { statusOfLink } from '../../domain/evidence-status.ts';
import { usageScopeOf } from '../../memberships/wall.ts';
import { listInhabitedGroups, listWorkLinks } from './contract-source-store.ts';

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

/** A work scope, with the groups whose members work in it. The install is that of one link that leads to it. */
export interface WorkScope extends Omit<LinkScope, 'groupId'> {
  groupIds: string[];
  /** Whether a live link leads to it. */
  isLinked: boolean;
}

/**
 * The scopes in which trainers may work, by `scopeKey`: those of live links, and those of other links whose group still
 * has members.
 */
export async function listWorkScopes(ctx: Context): Promise<Map<string, WorkScope>> {
  const toGroup = (one: { tool: string; groupId: string }) => JSON.stringify([one.tool, one.groupId]);
  const inhabited = new Set((await listInhabitedGroups(ctx)).map(toGroup));
  const scopes = new Map<string, WorkScope>();
  for (const link of await listWorkLinks(ctx)) {
    const at = scopeOfLink(ctx, link);
    const isLive = statusOfLink(link) === 'live';
    if (at === undefined || !(isLive || inhabited.has(toGroup(at)))) continue;
    const { groupId, ...found } = at;
    const workScope = scopes.get(scopeKey(at)) ?? { ...found, groupIds: [], isLinked: false };
    workScope.isLinked ||= isLive;
    if (!workScope.groupIds.includes(groupId)) workScope.groupIds.push(groupId);
    scopes.set(scopeKey(at), workScope);
  }
  return scopes;
}

export function scopeKey({ tool, scope }: { tool: string; scope: string }): string {
  return JSON.stringify([tool, scope]);
}
