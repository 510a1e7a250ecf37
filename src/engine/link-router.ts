import type { Adapter } from '../adapters/adapter.ts';
import { crossingOf, groupOf, type RoutedInstalls, type RoutedLink } from './wall.ts';

export interface Route {
  tool: string;
  groupId: string;
}

/** Where the people of a link belong; undefined where they are none of our business. Never throws. */
export type RouteLink = (link: RoutedLink) => Route | undefined;

/** By Maps, for install names and project ids come from outside. */
export function createLinkRouter(
  installs: RoutedInstalls,
  adapters: ReadonlyMap<string, Adapter>,
): RouteLink {
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
