import type { Adapter } from '../adapters/adapter.ts';
import type { PairEvidence } from '../domain/evidence.ts';
import type { Install } from '../domain/install.ts';
import type { Storage } from '../keys/storage.ts';
import { type Bearing, loadBearing } from '../memberships/explain-store.ts';
import { createLinkRouter } from '../memberships/link-router.ts';
import type { ToolStanding } from './about-tools.ts';
import { type Explanation, explain } from './explain.ts';

export interface ExplainDeps extends Storage {
  installs: ReadonlyMap<string, Install>;
  adapters: ReadonlyMap<string, Adapter>;
  managedDomains: readonly string[];
  tools: readonly ToolStanding[];
}

/**
 * Why a trainer, by id or work address, or the people of a contract have access or not. Empty where no source has named
 * them.
 *
 * @param isAsked which contracts with which links are explained; by default all
 */
export async function explainSubject(
  ctx: ExplainDeps,
  subject: string,
  isAsked: (pair: PairEvidence) => boolean = () => true,
): Promise<{ bearing: Bearing; explanations: Explanation[] }> {
  const { installs, adapters, managedDomains, tools } = ctx;
  const routeLink = createLinkRouter(installs, adapters);
  const bearing = await loadBearing(ctx, subject);
  const troubles = new Map(tools.flatMap(({ tool, trouble }) => (trouble === null ? [] : [[tool, trouble] as const])));
  return {
    bearing,
    explanations: explain(
      { ...bearing, pairs: bearing.pairs.filter(isAsked) },
      { installs, adapters, routeLink, managedDomains, troubles },
    ),
  };
}
