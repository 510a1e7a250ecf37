import type { LinkEvidence } from '../../domain/evidence.ts';
import type { Link, NewLink } from '../../sources/source.ts';

/** Links of an earlier grant that the new one does not have. */
export interface MissingLinks {
  /** The requests that create them again. */
  recreatable: NewLink[];
  /** Projects whose earlier job or mode is not known. */
  unknown: string[];
}

/**
 * Compares the links before a customer reconnected with the links now: links belong to their grant. They are compared
 * by project, because the ids are new.
 *
 * @param known links without a reported removal
 */
export function findMissingLinks(known: readonly LinkEvidence[], listed: readonly Link[]): MissingLinks {
  const linked = new Set(listed.map(({ externalProjectId }) => externalProjectId));
  const missing: MissingLinks = { recreatable: [], unknown: [] };
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
