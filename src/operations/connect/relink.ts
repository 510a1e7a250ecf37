import { toAppError } from '../../domain/errors.ts';
import type { LinkEvidence } from '../../domain/evidence.ts';
import { listLiveLinks } from '../../evidence/link-store.ts';
import type { Storage } from '../../keys/storage.ts';
import type { Link, NewLink, Source } from '../../sources/source.ts';

export interface Relinked {
  /** All links there are now. */
  links: Link[];
  /** The projects that were linked again. */
  relinked: string[];
  /** Projects that were linked before the customer reconnected and are not now, and why. */
  missing: { project: string; why: string }[];
}

/**
 * After a customer has reconnected, creates the links of the earlier grant again, once the operator agrees. By their
 * `externalProjectId` they take the memberships over.
 *
 * A source whose links cannot be created has none to create again.
 */
export async function relink(
  ctx: Storage,
  source: Pick<Source, 'listLinks' | 'createLink'>,
  install: string,
  { isReconnected, confirm }: { isReconnected: boolean; confirm(question: string): Promise<boolean> },
  signal: AbortSignal,
): Promise<Relinked> {
  const listed = await source.listLinks(signal);
  const { createLink } = source;
  if (!isReconnected || createLink === undefined) return { links: listed, relinked: [], missing: [] };
  const { recreatable, unknown } = findMissingLinks(await listLiveLinks(ctx, install), listed);
  const missing = unknown.map((project) => ({ project, why: 'its job is unknown' }));
  if (recreatable.length === 0) return { links: listed, relinked: [], missing };
  const projects = recreatable.map(({ externalProjectId }) => externalProjectId);
  if (!(await confirm(`Linked before, but not now: ${projects.join(', ')}. Link them again?`))) {
    const left = projects.map((project) => ({ project, why: 'the operator declined' }));
    return { links: listed, relinked: [], missing: [...missing, ...left] };
  }
  const made = await createAll(createLink, recreatable, signal);
  return {
    links: [...listed, ...made.links],
    relinked: made.links.map(({ externalProjectId }) => externalProjectId),
    missing: [...missing, ...made.failed],
  };
}

/** A link that cannot be created does not keep the others from being created. */
async function createAll(
  createLink: NonNullable<Source['createLink']>,
  wanted: readonly NewLink[],
  signal: AbortSignal,
) {
  const links: Link[] = [];
  const failed: Relinked['missing'] = [];
  for (const link of wanted) {
    try {
      links.push(await createLink(link, signal));
    } catch (error) {
      failed.push({ project: link.externalProjectId, why: toAppError(error).message });
    }
  }
  return { links, failed };
}

/**
 * Compares the links before a customer reconnected with the links now: links belong to their grant. They are compared
 * by project, because the ids are new.
 *
 * @param known links without a reported removal
 * @returns the requests that create them again, and the projects whose earlier job or mode is not known
 */
function findMissingLinks(known: readonly LinkEvidence[], listed: readonly Link[]) {
  const linked = new Set(listed.map(({ externalProjectId }) => externalProjectId));
  const missing: { recreatable: NewLink[]; unknown: string[] } = { recreatable: [], unknown: [] };
  for (const { externalProjectId, jobId, ...link } of known) {
    if (externalProjectId === null || linked.has(externalProjectId)) continue;
    linked.add(externalProjectId);
    const { externalProjectName: name, externalProjectUrl: url, provisioningMode: mode } = link;
    // A link of an unknown mode would be created in another mode.
    if (jobId === null || (mode !== null && !isMode(mode))) {
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

type Mode = NonNullable<NewLink['provisioningMode']>;

function isMode(mode: string | null): mode is Mode {
  return mode === 'PARTNER_WEBHOOK' || mode === 'MANAGED_ADAPTER';
}
