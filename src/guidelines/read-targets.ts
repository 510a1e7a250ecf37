import type { Context } from '../context.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { provisioningOf, statusOfLink } from '../domain/evidence-status.ts';
import { listLiveLinks } from '../evidence/contract-store.ts';
import { maskText } from '../lib/mask.ts';
import { outsideOf } from '../memberships/wall.ts';
import type { Publication } from '../sources/record-schema.ts';

/** A project of an install for whose jobs something is published. */
export interface Target {
  tool: string;
  project: string;
  install: string;
  /** What is published for the jobs of all installs that lead to the project; at least one. */
  claims: Publication[];
  /** Why it is not known what another install claims; null if all is known. */
  unread: string | null;
}

interface JobLink {
  install: string;
  project: string;
  jobId: string;
}

/**
 * Reads what is published for the projects of an install. Other installs that lead to one of them are read too, because
 * their manual may be another.
 *
 * @param only one project; all by default
 * @throws AppError if the publications of the install cannot be read; `conflict` if it can have no guidelines
 */
export async function readTargets(
  ctx: Context,
  install: string,
  only: string | undefined,
  signal: AbortSignal,
): Promise<Target[]> {
  const tool = toolOf(ctx, install);
  const own = (await linksOf(ctx, install)).filter(({ project }) => only === undefined || project === only);
  const projects = new Set(own.map(({ project }) => project));
  const others = await listOtherLinks(ctx, { tool, install, projects });
  const published = new Map([[install, await readPublished(ctx, install, own, signal)]]);
  const failures = new Map<string, string>();
  for (const [name, links] of others) {
    try {
      published.set(name, await readPublished(ctx, name, links, signal));
    } catch (error) {
      signal.throwIfAborted();
      failures.set(name, maskText(toAppError(error).message));
    }
  }
  const all = Map.groupBy([...own, ...[...others.values()].flat()], ({ project }) => project);
  return [...all].flatMap(([project, links]) => {
    const claims = links.flatMap((link) => published.get(link.install)?.get(link.jobId) ?? []);
    const [unread] = links.flatMap((link) => failures.get(link.install) ?? []);
    return claims.length === 0 ? [] : [{ tool, project, install, claims, unread: unread ?? null }];
  });
}

/** Whether an install has publications, and its tool shows guidelines. */
export function takesGuidelines({ installs, adapters, sources }: Context, install: string): boolean {
  const adapter = adapters.get(installs.get(install)?.tool ?? '');
  return sources.get(install)?.readPublications !== undefined && adapter?.writeGuidelines !== undefined;
}

function toolOf(ctx: Context, install: string): string {
  const tool = ctx.installs.get(install)?.tool ?? '';
  if (takesGuidelines(ctx, install)) return tool;
  const message =
    ctx.sources.get(install)?.readPublications === undefined
      ? `${install} has no manuals: only an account of your own has`
      : `The tool ${tool} shows no guidelines`;
  throw new AppError('conflict', message);
}

/** The live links that give access, and that have a job. */
async function linksOf(ctx: Context, install: string): Promise<JobLink[]> {
  return (await listLiveLinks(ctx, install)).flatMap((link) => {
    const { externalProjectId: project, jobId } = link;
    if (project === null || jobId === null || statusOfLink(link) !== 'live') return [];
    if (provisioningOf(link.provisioningMode) !== 'ours' || outsideOf(ctx, link) !== null) return [];
    return [{ install, project, jobId }];
  });
}

/** By the other installs on the tool that have manuals. */
async function listOtherLinks(
  ctx: Context,
  { tool, install, projects }: { tool: string; install: string; projects: ReadonlySet<string> },
): Promise<Map<string, JobLink[]>> {
  const found = new Map<string, JobLink[]>();
  for (const [name, other] of ctx.installs) {
    if (name === install || other.tool !== tool || !takesGuidelines(ctx, name)) continue;
    const shared = (await linksOf(ctx, name)).filter(({ project }) => projects.has(project));
    if (shared.length > 0) found.set(name, shared);
  }
  return found;
}

async function readPublished(
  { sources }: Context,
  install: string,
  links: readonly JobLink[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Publication>> {
  const jobIds = [...new Set(links.map(({ jobId }) => jobId))];
  if (jobIds.length === 0) return new Map();
  return (await sources.get(install)?.readPublications?.(jobIds, signal)) ?? new Map();
}
