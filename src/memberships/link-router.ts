import type { Adapter } from '../adapters/adapter.ts';
import { crossingOf, groupOf, type RoutedInstalls, type RoutedLink } from './wall.ts';

export interface Route {
  tool: string;
  groupId: string;
}

/** The group where the trainers of a link belong; undefined if the link gives no access. Never throws. */
export type RouteLink = (link: RoutedLink) => Route | undefined;

/** Uses Maps, because install names and project ids come from outside. */
export function createLinkRouter(installs: RoutedInstalls, adapters: ReadonlyMap<string, Adapter>): RouteLink {
  const walls = { installs, adapters };
  return (link) => {
    const tool = installs.get(link.install)?.tool;
    const adapter = tool === undefined ? undefined : adapters.get(tool);
    if (tool === undefined || adapter === undefined) return undefined;
    if (crossingOf(walls, link) !== null) return undefined;
    const groupId = groupOf(adapter, link);
    return groupId === undefined ? undefined : { tool, groupId };
  };
}

/**
 * The installs whose trainers may be in a group: those that lead to it with one of the given projects, and those whose
 * every project leads to it.
 */
export type InstallsReaching = (group: Route, projects: readonly Omit<RoutedLink, 'install'>[]) => ReadonlySet<string>;

export function createInstallsReaching(installs: RoutedInstalls, routeLink: RouteLink): InstallsReaching {
  return ({ tool, groupId }, projects) => {
    const leadsThere = (link: RoutedLink) => routeLink(link)?.groupId === groupId;
    const reaching = [...installs].filter(
      ([install, one]) =>
        one.tool === tool &&
        [...projects, ...one.projects.map(toExample)].some((project) => leadsThere({ install, ...project })),
    );
    return new Set(reaching.map(([install]) => install));
  };
}

/** An example project of a pattern. If a tool has one group for all projects, any example leads there. */
function toExample(pattern: string): Omit<RoutedLink, 'install'> {
  return { externalProjectId: pattern.replace(/\*$/, '1'), externalProjectName: null };
}
