import type { Config } from '../config/config-schema.ts';
import type { PairEvidence } from '../domain/evidence.ts';
import type { Storage } from '../keys/storage.ts';
import { type Bearing, loadBearing } from '../memberships/explain-store.ts';
import { createLinkRouter } from '../memberships/link-router.ts';
import type { Walls } from '../memberships/wall.ts';
import type { ToolStanding } from './about-tools.ts';
import { type Explanation, explain } from './explain.ts';

/** What is known, and the configuration that it is read with. Every `Context` is one. */
interface Explaining extends Storage, Walls {
  config: Config;
}

/**
 * Why a trainer, by id or work address, or the people of a contract have access or not. Empty where no source has named
 * them.
 *
 * @param tools as `loadTools` says
 * @param isAsked which contracts with which links are explained; by default all
 */
export async function explainSubject(
  ctx: Explaining,
  subject: string,
  tools: readonly ToolStanding[],
  isAsked: (pair: PairEvidence) => boolean = () => true,
): Promise<{ bearing: Bearing; explanations: Explanation[] }> {
  const { installs, adapters } = ctx;
  const { managedDomains } = ctx.config.marketplace;
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
