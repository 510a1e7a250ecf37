import type { Adapter } from '../adapters/adapter.ts';
import type { LinkEvidence } from '../domain/evidence.ts';

export interface Route {
  tool: string;
  groupId: string;
}

type RoutedLink = Pick<LinkEvidence, 'install' | 'externalProjectId' | 'externalProjectName'>;

/** Where the people of a link belong; undefined where they are none of our business. */
export type RouteLink = (link: RoutedLink) => Route | undefined;

interface RoutedInstall {
  tool: string;
  /** Project ids, or `prefix*`: the wall around a customer (design section 2). */
  projects: readonly string[];
}

export type RoutedInstalls = ReadonlyMap<string, RoutedInstall>;

/** By Maps, for install names and project ids come from outside. */
export function createLinkRouter(
  installs: RoutedInstalls,
  adapters: ReadonlyMap<string, Adapter>,
): RouteLink {
  return (link) => {
    const { install, externalProjectId, externalProjectName } = link;
    const routed = installs.get(install);
    if (routed === undefined || externalProjectId === null) return undefined;
    const adapter = adapters.get(routed.tool);
    if (adapter === undefined || isOutside(installs, link)) return undefined;
    const groupId = adapter.groupFor({ externalProjectId, externalProjectName });
    return { tool: routed.tool, groupId };
  };
}

/**
 * Whether a link crosses the wall of its install: a customer creates links by themselves. The
 * project is theirs if it fits one of their patterns, and no other install of the same tool has one
 * that fits it more closely.
 */
export function isOutside(
  installs: RoutedInstalls,
  { install, externalProjectId }: RoutedLink,
): boolean {
  const own = installs.get(install);
  if (own === undefined || externalProjectId === null) return false;
  const closeness = closestFit(own.projects, externalProjectId);
  if (closeness < 0) return true;
  return [...installs.values()].some(
    (other) => other.tool === own.tool && closestFit(other.projects, externalProjectId) > closeness,
  );
}

/** How much of the id a pattern has to name to fit; a whole id beats every prefix, -1 is no fit. */
function closestFit(patterns: readonly string[], projectId: string): number {
  return Math.max(-1, ...patterns.map((pattern) => closenessOf(pattern, projectId)));
}

function closenessOf(pattern: string, projectId: string): number {
  if (!pattern.endsWith('*')) return pattern === projectId ? Number.POSITIVE_INFINITY : -1;
  const prefix = pattern.slice(0, -1);
  return projectId.startsWith(prefix) ? prefix.length : -1;
}
