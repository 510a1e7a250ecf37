import type { Adapter } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import type { Route, RoutedLink, RouteLink } from '../domain/install.ts';
import { postponeInstalls } from './derivation-store.ts';
import { crossingOf, groupOf, type RoutedInstalls } from './wall.ts';

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
export function installsReaching(
  installs: RoutedInstalls,
  routeLink: RouteLink,
  { tool, groupId }: Route,
  projects: readonly Omit<RoutedLink, 'install'>[],
): ReadonlySet<string> {
  const leadsThere = (link: RoutedLink) => routeLink(link)?.groupId === groupId;
  const reaching = [...installs].filter(
    ([install, one]) =>
      one.tool === tool &&
      [...projects, ...one.projects.map(toExample)].some((project) => leadsThere({ install, ...project })),
  );
  return new Set(reaching.map(([install]) => install));
}

/** An example project of a pattern. If a tool has one group for all projects, any example leads there. */
function toExample(pattern: string): Omit<RoutedLink, 'install'> {
  return { externalProjectId: pattern.replace(/\*$/, '1'), externalProjectName: null };
}

/**
 * Marks the trainers that a new configuration of these installs may concern as waiting to be derived. This includes the
 * trainers of other installs on the same tool, because their walls may have moved.
 *
 * @returns whether there is anything to derive
 */
export async function rerouteInstalls(ctx: Context, changed: readonly string[]): Promise<boolean> {
  if (changed.length === 0) return false;
  const tools = new Set(changed.map((name) => ctx.installs.get(name)?.tool));
  const neighbours = [...ctx.installs].filter(([, { tool }]) => tools.has(tool)).map(([name]) => name);
  const all = [...new Set([...changed, ...neighbours])];
  await inTransaction(ctx.database, (tx) => postponeInstalls(tx, all));
  return true;
}
