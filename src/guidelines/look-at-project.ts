import type { Context } from '../context.ts';
import { AppError, isTransient, toAppError } from '../domain/errors.ts';
import { provisioningOf, statusOfLink } from '../domain/evidence-status.ts';
import type { GuidelineState } from '../domain/guideline-state.ts';
import { listLiveLinks } from '../evidence/contract-store.ts';
import { maskText } from '../lib/mask.ts';
import type { Publication } from '../marketplace/source-records.ts';
import { outsideOf } from '../memberships/wall.ts';
import { callTool } from '../tools/call-tool.ts';
import { decideClaim, decideGuideline, type PublicationName, type Verdict } from './decide-guideline.ts';
import { findGuideline, type GuidelineRow } from './guideline-store.ts';
import { toText } from './to-text.ts';

/** A project of an install with a publication for one of its jobs. */
export interface Target {
  tool: string;
  project: string;
  install: string;
  /** The publications for the jobs of all installs that lead to the project; at least one. */
  claims: Publication[];
  /** Why the publications of another install are unknown; null if all are known. */
  unread: string | null;
}

interface JobLink {
  install: string;
  project: string;
  jobId: string;
}

/**
 * Reads what is published for the projects of an install. Other installs that lead to the same projects are read too,
 * because they may have another manual.
 *
 * @param only this project; all by default
 * @throws AppError if the publications of the install cannot be read; `conflict` if it cannot have guidelines
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
      ? `${install} has no manuals: only an account of your own has them`
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

/** The links of other installs that have manuals and lead to these projects. */
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

/** What is published for a project, what its tool shows, and what follows. */
export interface ProjectLook {
  target: Target;
  known: GuidelineRow | undefined;
  /** Null if several manuals claim the project. */
  publication: PublicationName | null;
  /** The publication in the format of the tool; null if it is unknown. */
  wanted: string | null;
  /** What the conversion left out, in sentences. */
  notes: string[];
  /** What the tool shows; null if it was not asked or did not answer. */
  found: string | null;
  verdict: Verdict | Unseen;
  /** Why nothing is written. */
  says: string | null;
  retryAfterMs: number | undefined;
}

/** The tool was not asked, or did not answer. */
type Unseen = Extract<GuidelineState, 'disputed' | 'refused' | 'failing'>;

/** How long one call to a tool may take. */
export function timeoutOf({ config }: Context, tool: string): number {
  return config.tools.get(tool)?.timeoutMs ?? 15_000;
}

/** Compares one project. Changes nothing, and throws only if it is stopped. */
export async function lookAtProject(
  ctx: Context,
  target: Target,
  overwrites: boolean,
  signal: AbortSignal,
): Promise<ProjectLook> {
  const { tool, project, claims, unread } = target;
  const known = await findGuideline(ctx, target);
  const look = { target, known, publication: null, wanted: null, notes: [], found: null, retryAfterMs: undefined };
  const claim = decideClaim(claims);
  if (claim === null) return { ...look, verdict: 'disputed', says: sayDispute(claims) };
  const { manualId, publicationNumber } = claim;
  const claimed = { ...look, publication: { manualId, publicationNumber } };
  if (unread !== null)
    return { ...claimed, verdict: 'failing', says: `Another install leads to this project too: ${unread}` };
  const adapter = ctx.adapters.get(tool);
  try {
    const { text: wanted, notes } = toText(claim, adapter?.capabilities.guidelines ?? 'markdown');
    const read = async (until: AbortSignal) => (await adapter?.readGuidelines?.(project, until)) ?? '';
    const found = await callTool(timeoutOf(ctx, tool), signal, read);
    const verdict = decideGuideline({ known, publication: claim, wanted, found, overwrites });
    return { ...claimed, wanted, notes, found, verdict, says: sayings[verdict] ?? null };
  } catch (thrown) {
    signal.throwIfAborted();
    return { ...claimed, ...toUnseen(toAppError(thrown)) };
  }
}

export function toUnseen(error: AppError): Pick<ProjectLook, 'says' | 'retryAfterMs'> & { verdict: Unseen } {
  const verdict = isTransient(error) ? 'failing' : 'refused';
  return { verdict, says: maskText(error.message), retryAfterMs: error.retryAfterMs };
}

/** Why nothing is written. */
export const sayings: Readonly<Partial<Record<Verdict, string>>> = {
  edited: 'The text in the tool is not what Gangway wrote last: it was edited there',
  foreign: 'The tool has a text that Gangway did not write',
  cut: 'The tool shows other words than Gangway wrote: it may not accept this text',
  older: 'A newer publication was written before',
};

function sayDispute(claims: readonly PublicationName[]): string {
  const manuals = [...new Set(claims.map(({ manualId }) => manualId))].sort();
  return `Several manuals claim the project: ${manuals.join(', ')}`;
}
