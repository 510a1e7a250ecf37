import { listManualReadings } from '../../guidelines/guideline-reading-store.ts';
import { listGuidelines } from '../../guidelines/guideline-store.ts';
import { isBlocked } from '../../guidelines/sync-install.ts';
import type { Storage } from '../../keys/storage.ts';
import { type Attention, worryingFailures } from '../attention.ts';

/** @param configured the existing installs: for others nothing is looked at any more */
export async function aboutGuidelines(
  ctx: Storage,
  configured: ReadonlyMap<string, { guidelines?: boolean }>,
): Promise<Attention[]> {
  const rows = await listGuidelines(ctx);
  const blocked = rows.filter((row) => configured.has(row.install) && isBlocked(row));
  const readings = await listManualReadings(ctx);
  return [
    ...blocked.map(({ tool, project, says, install }) => ({
      says: `the guidelines of the project ${project} in ${tool} are not what is published: ${says}`,
      action: `gangway guidelines diff --project ${project}, then gangway guidelines sync --project ${project} --overwrite`,
      page: `/installs/${encodeURIComponent(install)}`,
    })),
    ...readings
      .filter(({ install, failures }) => configured.get(install)?.guidelines === true && failures >= worryingFailures)
      .map(({ install, failure }) => ({
        says: `the manuals of ${install} cannot be read: ${failure}`,
        action: `check the scopes of installs.${install}.token (instructions:read); it is tried again by itself`,
        page: `/installs/${encodeURIComponent(install)}`,
      })),
  ];
}
