import type { Context } from '../context.ts';
import { type ActChange, type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { Storage } from '../keys/storage.ts';
import { crossingOf, type Walls } from '../memberships/wall.ts';
import { wantRead } from '../reconcile/read/install-state-store.ts';
import type { Link, NewLink, Source } from '../sources/source.ts';
import { explainCrossing } from './explain/explain-crossing.ts';

type LinkSource = Pick<Source, 'listLinks' | 'createLink' | 'deleteLink'>;

/**
 * Links a project at the marketplace, and has the install read.
 *
 * @throws AppError `conflict` where the project is outside the install's wall, or linked already, or where
 * the source has no links that can be changed
 */
export async function addLink(
  ctx: Context,
  by: By,
  source: LinkSource,
  install: string,
  wanted: NewLink,
  signal: AbortSignal,
): Promise<Link> {
  if (source.createLink === undefined) throw unchangeable(install);
  refuseOutside(ctx, install, wanted.externalProjectId);
  const link = await source.createLink(wanted, signal);
  await note(ctx, by, 'links add', { install, linkId: link.id }, { after: describeLink(link) });
  return link;
}

/** @throws AppError `conflict` where the project is outside the install's wall */
export function refuseOutside(walls: Walls, install: string, externalProjectId: string): void {
  const project = { install, externalProjectId, externalProjectName: null };
  const crossing = crossingOf(walls, project);
  if (crossing === null) return;
  const { says } = explainCrossing(crossing, project);
  throw new AppError('conflict', `${says}, so no trainer would get in by that link`);
}

/**
 * The link that an operator means by its id or by its project's.
 *
 * @throws AppError `not_found`
 */
export async function findLink(source: LinkSource, named: string, signal: AbortSignal): Promise<Link> {
  const links = await source.listLinks(signal);
  const link =
    links.find(({ id }) => id === named) ?? links.find(({ externalProjectId }) => externalProjectId === named);
  if (link !== undefined) return link;
  throw new AppError('not_found', `No link and no linked project is called ${named}`);
}

/** Removes a link for good: trainers who are in the project only by this link are removed after `removals.grace`. */
export async function removeLink(
  ctx: Storage,
  by: By,
  source: LinkSource,
  install: string,
  link: Link,
  signal: AbortSignal,
): Promise<void> {
  if (source.deleteLink === undefined) throw unchangeable(install);
  await source.deleteLink(link.id, signal);
  await note(ctx, by, 'links remove', { install, linkId: link.id }, { before: describeLink(link) });
}

function describeLink({ externalProjectId, jobId }: Link): string {
  return `project ${externalProjectId}, job ${jobId ?? '(none)'}`;
}

async function note(
  ctx: Storage,
  by: By,
  action: string,
  { install, linkId }: { install: string; linkId: string },
  change: ActChange,
): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    await writeAudit(tx, by, action, `${install}/${linkId}`, change);
    await wantRead(tx, [install], by.at, 'operator');
  });
}

function unchangeable(install: string): AppError {
  return new AppError('conflict', `The links of ${install} cannot be changed at the marketplace`);
}
