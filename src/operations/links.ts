import { z } from 'zod';
import type { Adapter } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import type { Row } from '../db/schema.ts';
import { toAppError } from '../domain/errors.ts';
import { provisioningOf } from '../domain/evidence-status.ts';
import { maskText } from '../lib/mask.ts';
import type { Link as LinkThere, Source } from '../marketplace/source.ts';
import { outsideOf, type Walls } from '../memberships/wall.ts';
import { sourceOf } from '../subscription/look-at-subscription.ts';
import { callTool } from '../tools/call-tool.ts';
import { type LinkedProject, listScopes, scopeOfLink } from '../usage/read/scope-store.ts';
import { addLink, findLink, removeLink } from './change-links.ts';
import { act, group, read } from './operation.ts';
import { askEach, pickInstalls, sayUnread, unread } from './pick-installs.ts';
import { type Columns, fieldColumns, table } from './show.ts';
import { flag, maybeInstant, maybeText, named, ofInstall, text, theInstall } from './values.ts';

/** Projects that are linked at the marketplace, and where the links lead. */

const Link = named('Link', {
  install: z.string(),
  linkId: z.string(),
  project: z.string(),
  name: maybeText,
  jobId: maybeText,
  leads: z.enum(['here', 'managed', 'outside', 'nowhere']),
  outside: maybeText.describe('Why it gives nobody access.'),
  tool: maybeText,
  groupId: maybeText,
  work: z
    .object({
      scope: z.string(),
      state: z.enum(['read', 'unread', 'failing', 'gone']),
      readAt: maybeInstant,
      failure: maybeText,
    })
    .nullable()
    .describe('How the work in the project is read; null if it is not read.'),
});

type Link = z.output<typeof Link>;

const columns: Columns<Link> = [
  ['install', ({ install }) => install],
  ['link', ({ linkId }) => linkId],
  ...fieldColumns('project', 'name'),
  ['job', ({ jobId }) => jobId ?? '(none)'],
  ['leads', ({ leads, outside }) => (outside === null ? leads : `${leads} (${outside.replace('_', ' ')})`)],
  ['tool', ({ tool }) => tool],
  ['group', ({ groupId }) => groupId],
  ['work', ({ work }) => sayWork(work)],
];

const Changed = z.object({ install: z.string(), linkId: z.string(), project: z.string() });

export const operations = group('links', {
  list: read('GET /links', 'List the links as the marketplace has them now', {
    asks: 'marketplace',
    in: z.strictObject({ install: ofInstall }),
    out: z.object({ links: z.array(Link), unread }),
    run: ({ install }, ctx, { signal }) => listLinks(ctx, pickInstalls(ctx, install), signal),
    show: table(columns, 'No project is linked.', 'links'),
    problems: sayUnread,
  }),
  add: act('POST /installs/{install}/links', 'Link a project of your tool, so that people are hired into it', {
    asks: 'tools',
    args: ['project'],
    in: z.strictObject({
      project: text.describe("Your tool's id of the project."),
      install: theInstall,
      job: text.optional().describe("The customer's job; nobody is hired through a link without one."),
      name: text.optional().describe('What the project is called.'),
      url: text.optional().describe('The URL of the project.'),
      managed: z.boolean().optional().describe('Let the marketplace provision it instead of Gangway.'),
    }),
    out: Changed.extend({ warnings: z.array(z.string()).describe('Why the link would give nobody access.') }),
    async run({ install, project, job, name, url, managed }, ctx, { by, signal }) {
      const wanted = {
        externalProjectId: project,
        ...(job !== undefined && { jobId: job }),
        ...(name !== undefined && { externalProjectName: name }),
        ...(url !== undefined && { externalProjectUrl: url }),
        ...(managed === true && { provisioningMode: 'MANAGED_ADAPTER' as const }),
      };
      const link = await addLink(ctx, by, install, wanted, signal);
      const warnings = await examineLink(ctx, sourceOf(ctx, install), install, link, signal);
      return { install, linkId: link.id, project, warnings };
    },
    show: ({ project, linkId }) => `Linked ${project}: ${linkId}`,
    problems: ({ warnings }) => warnings.map((says) => `Warning: ${says}`),
    status: () => 0,
  }),
  remove: act(
    'POST /installs/{install}/links/{link}/remove',
    'Remove a link for good; who is in the project only by it leaves after the grace period',
    {
      asks: 'marketplace',
      in: z.strictObject({
        install: theInstall,
        link: text.describe('Its id, or the project.'),
        yes: flag('Remove it; otherwise it is only shown.'),
      }),
      out: Changed.extend({ isRemoved: z.boolean() }),
      async run({ install, link, yes }, ctx, { by, signal }) {
        const found = await findLink(ctx, install, link, signal);
        if (yes) await removeLink(ctx, by, install, found, signal);
        return { install, linkId: found.id, project: found.externalProjectId, isRemoved: yes };
      },
      show: ({ linkId, install, project, isRemoved }) =>
        isRemoved
          ? `Removed the link ${linkId} of ${install} to ${project}. People leave after the grace period, unless it is linked again.`
          : `This would remove the link ${linkId} of ${install} to ${project}. Nothing was changed; --yes removes it.`,
    },
  ),
});

function sayWork(work: Link['work']): string {
  if (work === null) return '';
  const { state, readAt, failure } = work;
  if (state === 'read') return `read ${readAt}`;
  if (state === 'unread') return 'not read yet';
  const last = readAt === null ? 'never read' : `last read ${readAt}`;
  return state === 'gone' ? `gone, ${last}` : `${last}: ${failure}`;
}

export async function listLinks(ctx: Context, installs: readonly string[], signal: AbortSignal) {
  const scopes = await listScopes(ctx);
  const { found: links, unread } = await askEach(installs, signal, async (install) => {
    const listed = (await ctx.sources.get(install)?.listLinks(signal)) ?? [];
    return listed.map((link) => toListed(ctx, scopes, install, link));
  });
  return { links, unread };
}

function toListed(ctx: Context, scopes: readonly Row<'usageScope'>[], install: string, link: LinkThere): Link {
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
    leads: isManaged ? 'managed' : leadOf(route !== undefined, outside !== null),
    outside,
    tool: route?.tool ?? null,
    groupId: route?.groupId ?? null,
    work: isManaged ? null : toWork(ctx, scopes, project),
  };
}

function toWork(ctx: Context, scopes: readonly Row<'usageScope'>[], link: LinkedProject): Link['work'] {
  const at = scopeOfLink(ctx, link);
  if (at === undefined) return null;
  const { tool, scope } = at;
  const known = scopes.find((one) => one.tool === tool && one.scope === scope);
  const { readBeganAt: readAt = null, failure = null, goneSince = null } = known ?? {};
  if (failure === null) return { scope, state: readAt === null ? 'unread' : 'read', readAt, failure };
  return { scope, state: goneSince === null ? 'failing' : 'gone', readAt, failure };
}

function leadOf(isRouted: boolean, isBeyond: boolean): Link['leads'] {
  if (isRouted) return 'here';
  return isBeyond ? 'outside' : 'nowhere';
}

const askTimeoutMs = 10_000;

/** Looks for the project of a new link in the tool, and for its job at the marketplace. @returns why nobody would get in */
export async function examineLink(
  walls: Walls,
  source: Pick<Source, 'listContracts'>,
  install: string,
  link: LinkThere,
  signal: AbortSignal,
): Promise<string[]> {
  if (provisioningOf(link.provisioningMode) === 'of_marketplace') return [];
  const found = [await examineProject(walls, install, link, signal), await examineJob(source, link, signal)];
  return found.filter((says) => says !== undefined).map((says) => maskText(says));
}

/** Looks for the project in the tool. @returns why nobody would get in; undefined if it is there */
export async function examineProject(
  { installs, adapters }: Walls,
  install: string,
  link: LinkThere,
  signal: AbortSignal,
) {
  const { tool = '' } = installs.get(install) ?? {};
  const adapter = adapters.get(tool);
  const project = link.externalProjectId;
  if (adapter === undefined) return undefined;
  try {
    await callTool(askTimeoutMs, signal, (callSignal) => askForProject(adapter, link, callSignal));
    return undefined;
  } catch (error) {
    const { code, message } = toAppError(error);
    if (code === 'not_found') return `${tool} has no project ${project}, so nobody gets in until it exists`;
    return `Gangway could not check whether ${tool} has project ${project}: ${message}`;
  }
}

/** Reads the guidelines if it can, because the list of members may be that of a whole organization. */
async function askForProject(adapter: Adapter, link: LinkThere, signal: AbortSignal): Promise<void> {
  if (adapter.readGuidelines !== undefined) {
    await adapter.readGuidelines(link.externalProjectId, signal);
    return;
  }
  const members = adapter.listMembers?.(adapter.groupFor(link), signal)[Symbol.asyncIterator]();
  await members?.next();
  await members?.return?.();
}

async function examineJob(
  source: Pick<Source, 'listContracts'>,
  { id, jobId }: LinkThere,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (typeof jobId !== 'string') return 'the link has no job, so nobody can be hired through it';
  try {
    const filter = { status: 'active', projectLinkId: id, wantsMore: () => false } as const;
    const { unreadLinks: [refused] = [] } = await source.listContracts(filter, signal);
    return refused && `job ${jobId} cannot be read: ${refused.refusal.message}`;
  } catch (error) {
    return `job ${jobId} cannot be read: ${toAppError(error).message}`;
  }
}
