import type { Adapter } from '../adapters/adapter.ts';
import type { LinkEvidence } from '../domain/evidence.ts';

export interface Route {
  tool: string;
  groupId: string;
}

/** Where the people of a link belong; undefined where they are none of our business. */
export type RouteLink = (link: LinkEvidence) => Route | undefined;

interface RoutedInstall {
  tool: string;
  /** Project ids, or `prefix*`: the wall around a customer (design section 2). */
  projects: readonly string[];
}

/** By Maps, for install names and project ids come from outside. */
export function createLinkRouter(
  installs: ReadonlyMap<string, RoutedInstall>,
  adapters: ReadonlyMap<string, Adapter>,
): RouteLink {
  return ({ install, externalProjectId, externalProjectName, provisioningMode }) => {
    const routed = installs.get(install);
    if (routed === undefined) return undefined;
    const adapter = adapters.get(routed.tool);
    if (adapter === undefined) return undefined;
    if (externalProjectId === null || provisioningMode === 'MANAGED_ADAPTER') return undefined;
    if (!routed.projects.some((pattern) => matches(pattern, externalProjectId))) return undefined;
    const groupId = adapter.groupFor({ externalProjectId, externalProjectName });
    return { tool: routed.tool, groupId };
  };
}

function matches(pattern: string, projectId: string): boolean {
  return pattern.endsWith('*') ? projectId.startsWith(pattern.slice(0, -1)) : projectId === pattern;
}
