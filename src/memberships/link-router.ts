import type { Adapter } from '../adapters/adapter.ts';
import { crossingOf, groupOf, type RoutedInstalls, type RoutedLink } from './wall.ts';

export interface Route {
  tool: string;
  groupId: string;
}

/** Where the people of a link belong; undefined where they are none of our business. Never throws. */
export type RouteLink = (link: RoutedLink) => Route | undefined;

/** By Maps, for install names and project ids come from outside. */
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
 * Names the installs whose people may be in a group: those that lead to it with one of the projects
 * by which it is known, and those whose every project does.
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

/** A project that a pattern names: where a tool has one group for all, any of them leads there. */
function toExample(pattern: string): Omit<RoutedLink, 'install'> {
  return { externalProjectId: pattern.replace(/\*$/, '1'), externalProjectName: null };
}
