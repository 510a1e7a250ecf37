import type { LinkEvidence } from '../../domain/evidence.ts';
import type { NewProjectLink } from '../../marketplace/platform-api.ts';
import type { ProjectLink } from '../../marketplace/platform-schema.ts';

/** Links of an earlier grant that the new one does not have. */
export interface MissingLinks {
  /** What is to be asked of the marketplace to have them again. */
  recreatable: NewProjectLink[];
  /** Projects of which it is not known which job they were linked to, or in which mode. */
  unknown: string[];
}

/**
 * Compares what was linked before a customer reconnected with what is linked now: their links
 * belonged to the grant before (spec: platform-api.md section 2). By project, as the ids are new.
 *
 * @param known links that nobody told to be removed
 */
export function findMissingLinks(known: readonly LinkEvidence[], listed: readonly ProjectLink[]): MissingLinks {
  const linked = new Set(listed.map(({ externalProjectId }) => externalProjectId));
  const missing: MissingLinks = { recreatable: [], unknown: [] };
  for (const { externalProjectId, jobId, ...link } of known) {
    if (externalProjectId === null || linked.has(externalProjectId)) continue;
    linked.add(externalProjectId);
    const { externalProjectName: name, externalProjectUrl: url, provisioningMode: mode } = link;
    // Made again in a mode that nobody knows, it would be in another one.
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

type Mode = NonNullable<NewProjectLink['provisioningMode']>;

function isMode(mode: string | null): mode is Mode {
  return mode === 'PARTNER_WEBHOOK' || mode === 'MANAGED_ADAPTER';
}
