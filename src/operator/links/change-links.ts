import { type ActChange, type By, writeAudit } from '../../db/audit-store.ts';
import { type Database, inTransaction } from '../../db/database.ts';
import { AppError } from '../../domain/errors.ts';
import type { NewProjectLink, PlatformApi } from '../../marketplace/platform-api.ts';
import type { ProjectLink } from '../../marketplace/platform-schema.ts';
import { crossingOf, type Walls } from '../../memberships/wall.ts';
import type { InstallStateStore } from '../../reconcile/read/install-state-store.ts';
import { explainCrossing } from '../explain-crossing.ts';

interface ChangeDeps {
  database: Database;
  installStates: Pick<InstallStateStore, 'wantRead'>;
  by: By;
}

type LinkApi = Pick<PlatformApi, 'listProjectLinks' | 'createProjectLink' | 'deleteProjectLink'>;

/**
 * Links a project at the marketplace, and has the install read.
 *
 * @throws AppError `conflict` where the project is outside the install's wall, or linked already
 */
export async function addLink(
  deps: ChangeDeps & Walls,
  api: LinkApi,
  install: string,
  wanted: NewProjectLink,
  signal: AbortSignal,
): Promise<ProjectLink> {
  const { externalProjectId } = wanted;
  const project = { install, externalProjectId, externalProjectName: null };
  const crossing = crossingOf(deps, project);
  if (crossing !== null) {
    const { says } = explainCrossing(crossing, project);
    throw new AppError('conflict', `${says}: no trainer would get in by that link`);
  }
  const link = await api.createProjectLink(wanted, signal);
  await note(deps, install, 'links add', link.id, { after: describeLink(link) });
  return link;
}

/**
 * The link that an operator means by its id or by its project's.
 *
 * @throws AppError `not_found`
 */
export async function findLink(api: LinkApi, named: string, signal: AbortSignal): Promise<ProjectLink> {
  const links = await api.listProjectLinks(signal);
  const link =
    links.find(({ id }) => id === named) ?? links.find(({ externalProjectId }) => externalProjectId === named);
  if (link !== undefined) return link;
  throw new AppError('not_found', `There is no link ${named}, and none of such a project`);
}

/** Removes a link for good: trainers who are in the project only by this link are removed after `removals.grace`. */
export async function removeLink(
  deps: ChangeDeps,
  api: LinkApi,
  install: string,
  link: ProjectLink,
  signal: AbortSignal,
): Promise<void> {
  await api.deleteProjectLink(link.id, signal);
  await note(deps, install, 'links remove', link.id, { before: describeLink(link) });
}

function describeLink({ externalProjectId, jobId }: ProjectLink): string {
  return `project ${externalProjectId}, job ${jobId ?? '(none)'}`;
}

async function note(
  { database, installStates, by }: ChangeDeps,
  install: string,
  action: string,
  linkId: string,
  change: ActChange,
): Promise<void> {
  await inTransaction(database, async (tx) => {
    await writeAudit(tx, by, action, `${install}/${linkId}`, change);
    await installStates.wantRead(tx, [install], by.at, 'operator');
  });
}
