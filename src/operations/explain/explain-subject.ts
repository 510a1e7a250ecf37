import type { Config } from '../../config/config-schema.ts';
import { listToolTroubles } from '../../converge/tool-trouble-store.ts';
import type { PairEvidence } from '../../domain/evidence.ts';
import { isTroubleCurrent } from '../../domain/tool-trouble.ts';
import type { Storage } from '../../keys/storage.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Bearing, loadBearing } from '../../memberships/explain-store.ts';
import { createLinkRouter } from '../../memberships/link-router.ts';
import type { Walls } from '../../memberships/wall.ts';
import { type Explanation, explain } from './explain-reasons.ts';

/** What is known, and the configuration that it is read with. Every `Context` is one. */
interface Explaining extends Storage, Walls {
  config: Config;
  clock: Clock;
}

/**
 * Why a trainer, by id or work address, or the people of a contract have access or not. Empty where no source has named
 * them.
 *
 * @param isAsked which contracts with which links are explained; by default all
 */
export async function explainSubject(
  ctx: Explaining,
  subject: string,
  isAsked: (pair: PairEvidence) => boolean = () => true,
): Promise<{ bearing: Bearing; explanations: Explanation[] }> {
  const { installs, adapters } = ctx;
  const { managedDomains } = ctx.config.marketplace;
  const routeLink = createLinkRouter(installs, adapters);
  const bearing = await loadBearing(ctx, subject);
  const now = ctx.clock.now();
  const current = (await listToolTroubles(ctx)).filter((trouble) => isTroubleCurrent(trouble, now));
  const troubles = new Map(current.map((trouble) => [trouble.tool, trouble]));
  return {
    bearing,
    explanations: explain(
      { ...bearing, pairs: bearing.pairs.filter(isAsked) },
      { installs, adapters, routeLink, managedDomains, troubles },
    ),
  };
}
