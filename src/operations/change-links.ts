import type { Context } from '../context.ts';
import { type ActChange, type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import type { LinkEvidence } from '../domain/evidence.ts';
import { listLiveLinks } from '../evidence/contract-store.ts';
import type { Link, NewLink, Source } from '../marketplace/source.ts';
import { crossingOf, explainCrossing, type Walls } from '../memberships/wall.ts';
import { wantRead } from '../reconcile/read/install-state-store.ts';
import { sourceOf } from '../subscription/look-at-subscription.ts';

/** The people of a job of your own account work in a project. */
export interface WantedJob {
  job: string;
  project: string;
}

/**
 * Links a project at the marketplace, and has the install read.
 *
 * @throws AppError `conflict` if the project is outside the install's wall or linked already, or if the links of the
 * source cannot be changed
 */
export async function addLink(
  ctx: Context,
  by: By,
  install: string,
  wanted: NewLink,
  signal: AbortSignal,
): Promise<Link> {
  const source = sourceOf(ctx, install);
  if (source.createLink === undefined) throw unchangeable(install);
  refuseOutside(ctx, install, wanted.externalProjectId);
  const link = await source.createLink(wanted, signal);
  await note(ctx, by, 'links add', install, link.id, { after: describeLink(link) });
  return link;
}

/** @throws AppError `conflict` if the project is outside the install's wall */
export function refuseOutside(walls: Walls, install: string, externalProjectId: string): void {
  const project = { install, externalProjectId, externalProjectName: null };
  const crossing = crossingOf(walls, project);
  if (crossing === null) return;
  const { says } = explainCrossing(crossing, project);
  throw new AppError('conflict', `${says}, so no trainer would get in by that link`);
}

/**
 * Finds a link by its id or by its project.
 *
 * @throws AppError `not_found`
 */
export async function findLink(ctx: Context, install: string, named: string, signal: AbortSignal): Promise<Link> {
  const links = await sourceOf(ctx, install).listLinks(signal);
  const link = links.find(({ id }) => id === named) ?? links.find((one) => one.externalProjectId === named);
  if (link !== undefined) return link;
  throw new AppError('not_found', `No link and no linked project is called ${named}`);
}

/** Removes a link for good. Trainers who have no other link to the project are removed after `removals.grace`. */
export async function removeLink(
  ctx: Context,
  by: By,
  install: string,
  link: Link,
  signal: AbortSignal,
): Promise<void> {
  const source = sourceOf(ctx, install);
  if (source.deleteLink === undefined) throw unchangeable(install);
  await source.deleteLink(link.id, signal);
  await note(ctx, by, 'links remove', install, link.id, { before: describeLink(link) });
}

function describeLink({ externalProjectId, jobId }: Link): string {
  return `project ${externalProjectId}, job ${jobId ?? '(none)'}`;
}

async function note(ctx: Context, by: By, action: string, install: string, linkId: string, change: ActChange) {
  await inTransaction(ctx.database, async (tx) => {
    await writeAudit(tx, by, action, `${install}/${linkId}`, change);
    await wantRead(tx, [install], by.at, 'operator');
  });
}

function unchangeable(install: string): AppError {
  return new AppError('conflict', `The links of ${install} cannot be changed at the marketplace`);
}

/**
 * Checks the jobs before an account is connected.
 *
 * @param walls with the new state of the install
 * @param source that lists the jobs as its links
 * @throws AppError `conflict` if a project is outside the install's wall; `forbidden` or `not_found` if a job belongs to
 * another account or does not exist
 */
export async function refuseJobs(
  walls: Walls,
  source: Source,
  install: string,
  jobs: readonly WantedJob[],
  signal: AbortSignal,
): Promise<void> {
  if (jobs.length === 0) return;
  for (const { project } of jobs) refuseOutside(walls, install, project);
  const refusal = await source.listContracts({ status: 'active', wantsMore: () => false }, signal).then(
    ({ unreadLinks: [unread] = [] }) => unread?.refusal,
    (error: unknown) => toAppError(error),
  );
  if (refusal === undefined) return;
  // The message names the job. Other failures are not about the job.
  const { code, message } = refusal;
  if (code !== 'forbidden' && code !== 'not_found') throw refusal;
  throw new AppError(code, `${message}. Nothing was stored. Each job must belong to the account of this token`);
}

/** Links the jobs that are not linked yet, and has the install read. */
export async function linkJobs(
  ctx: Context,
  by: By,
  install: string,
  jobs: readonly WantedJob[],
  signal: AbortSignal,
): Promise<void> {
  if (jobs.length === 0) return;
  const listed = await sourceOf(ctx, install).listLinks(signal);
  for (const { job: jobId, project: externalProjectId } of jobs) {
    const isLinked = listed.some((link) => link.jobId === jobId && link.externalProjectId === externalProjectId);
    if (!isLinked) listed.push(await addLink(ctx, by, install, { externalProjectId, jobId }, signal));
  }
}

export interface Relinked {
  links: Link[];
  /** The projects that were linked again. */
  relinked: string[];
  /** Projects that were linked before the customer reconnected, and why they no longer are. */
  missing: { project: string; why: string }[];
}

/**
 * After a customer has reconnected, creates the links of the earlier grant again, if the operator agrees. They take over
 * the memberships by `externalProjectId`. A link that cannot be created does not stop the others.
 */
export async function relink(
  ctx: Context,
  install: string,
  { isReconnected, confirm }: { isReconnected: boolean; confirm(question: string): Promise<boolean> },
  signal: AbortSignal,
): Promise<Relinked> {
  const { listLinks, createLink } = sourceOf(ctx, install);
  const links = [...(await listLinks(signal))];
  const found: Relinked = { links, relinked: [], missing: [] };
  if (!isReconnected || createLink === undefined) return found;
  const { recreatable, unknown } = findMissingLinks(await listLiveLinks(ctx, install), links);
  found.missing.push(...unknown.map((project) => ({ project, why: 'its job is unknown' })));
  const projects = recreatable.map(({ externalProjectId }) => externalProjectId);
  const question = `Linked before, but not now: ${projects.join(', ')}. Link them again?`;
  const isAgreed = recreatable.length > 0 && (await confirm(question));
  for (const wanted of recreatable) {
    const project = wanted.externalProjectId;
    try {
      if (!isAgreed) throw new AppError('conflict', 'the operator declined');
      links.push(await createLink(wanted, signal));
      found.relinked.push(project);
    } catch (error) {
      found.missing.push({ project, why: toAppError(error).message });
    }
  }
  return found;
}

/**
 * Links belong to their grant, so the new ones have other ids and are compared by project.
 *
 * @param known links without a reported removal
 * @returns requests that create the missing links again, and projects whose earlier job or mode is not known
 */
function findMissingLinks(known: readonly LinkEvidence[], listed: readonly Link[]) {
  const linked = new Set(listed.map(({ externalProjectId }) => externalProjectId));
  const missing: { recreatable: NewLink[]; unknown: string[] } = { recreatable: [], unknown: [] };
  for (const { externalProjectId, jobId, ...link } of known) {
    if (externalProjectId === null || linked.has(externalProjectId)) continue;
    linked.add(externalProjectId);
    const { externalProjectName: name, externalProjectUrl: url, provisioningMode: mode } = link;
    // A link of an unknown mode would be created in another mode.
    if (jobId === null || (mode !== null && mode !== 'PARTNER_WEBHOOK' && mode !== 'MANAGED_ADAPTER')) {
      missing.unknown.push(externalProjectId);
      continue;
    }
    missing.recreatable.push({
      externalProjectId,
      jobId,
      ...(name !== null && { externalProjectName: name }),
      ...(url !== null && { externalProjectUrl: url }),
      ...(mode !== null && { provisioningMode: mode }),
    });
  }
  return missing;
}
