import type { Context } from '../../context.ts';
import type { Row } from '../../db/schema.ts';
import { toAppError } from '../../domain/errors.ts';
import { provisioningOf } from '../../domain/evidence-status.ts';
import { maskText } from '../../lib/mask.ts';
import { type Crossing, outsideOf } from '../../memberships/wall.ts';
import type { Link } from '../../sources/source.ts';
import { type LinkedProject, scopeOfLink } from '../../usage/read/find-scopes.ts';
import { listScopes } from '../../usage/read/scope-store.ts';

type Scope = Row<'usageScope'>;

/** A link as the marketplace has it now, and where it leads. */
export interface ListedLink {
  install: string;
  linkId: string;
  project: string;
  name: string | null;
  jobId: string | null;
  /** `managed`: the marketplace provisions it itself; `outside`: beyond the wall of its install. */
  leads: 'here' | 'managed' | 'outside' | 'nowhere';
  /** Why it is outside; null if it is inside. */
  outside: Crossing | null;
  tool: string | null;
  groupId: string | null;
  /** How the work in the project is read; null if it is not read. */
  work: ListedWork | null;
}

/** `unread`: not read for the first time yet; `gone`: the tool says that the scope does not exist. */
export interface ListedWork {
  scope: string;
  state: 'read' | 'unread' | 'failing' | 'gone';
  readAt: string | null;
  failure: string | null;
}

export interface ListedLinks {
  links: ListedLink[];
  /** Installs that could not be asked, and why. */
  unread: { install: string; failure: string }[];
}

/** Asks for one install after the other. One that cannot be asked does not hide the others. */
export async function listLinks(ctx: Context, installs: readonly string[], signal: AbortSignal): Promise<ListedLinks> {
  const listed: ListedLinks = { links: [], unread: [] };
  const scopes = await listScopes(ctx);
  for (const install of installs) {
    try {
      const links = (await ctx.sources.get(install)?.listLinks(signal)) ?? [];
      listed.links.push(...links.map((link) => toListed(ctx, scopes, install, link)));
    } catch (error) {
      listed.unread.push({ install, failure: maskText(toAppError(error).message) });
    }
  }
  return listed;
}

function toListed(ctx: Context, scopes: readonly Scope[], install: string, link: Link): ListedLink {
  const { id, externalProjectId, externalProjectName, provisioningMode, jobId = null } = link;
  const project = { install, externalProjectId, externalProjectName };
  const isManaged = provisioningOf(provisioningMode) === 'of_marketplace';
  const outside = isManaged ? null : outsideOf(ctx, { ...project, provisioningMode });
  const route = isManaged || outside !== null ? undefined : ctx.routeLink(project);
  return {
    install,
    linkId: id,
    project: externalProjectId,
    name: externalProjectName,
    jobId,
    leads: leadOf(isManaged, route !== undefined, outside !== null),
    outside,
    tool: route?.tool ?? null,
    groupId: route?.groupId ?? null,
    work: isManaged ? null : toWork(ctx, scopes, project),
  };
}

function toWork(ctx: Context, scopes: readonly Scope[], link: LinkedProject): ListedWork | null {
  const at = scopeOfLink(ctx, link);
  if (at === undefined) return null;
  const { tool, scope } = at;
  const known = scopes.find((one) => one.tool === tool && one.scope === scope);
  const { readBeganAt: readAt = null, failure = null, goneSince = null } = known ?? {};
  return { scope, state: stateOf({ readAt, failure, goneSince }), readAt, failure };
}

function stateOf({
  readAt,
  failure,
  goneSince,
}: Pick<ListedWork, 'readAt' | 'failure'> & { goneSince: string | null }): ListedWork['state'] {
  if (failure === null) return readAt === null ? 'unread' : 'read';
  return goneSince === null ? 'failing' : 'gone';
}

function leadOf(isManaged: boolean, isRouted: boolean, isBeyond: boolean): ListedLink['leads'] {
  if (isManaged) return 'managed';
  if (isRouted) return 'here';
  return isBeyond ? 'outside' : 'nowhere';
}
