import type { Adapter } from '../adapters/adapter.ts';
import type { Config } from '../config/config-schema.ts';
import type { Database } from '../db/database.ts';
import type { Install } from '../installs/install.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import type { Clock } from '../lib/clock.ts';
import { createExplainStore } from '../memberships/explain-store.ts';
import { createLinkRouter } from '../memberships/link-router.ts';
import { loadRunning } from './about-instances.ts';
import type { Attention } from './attention.ts';
import { type Explanation, explain } from './explain.ts';
import { explainBudgets } from './explain-budgets.ts';

export interface ExplainDeps {
  database: Database;
  box: SecretBox;
  config: Pick<Config, 'marketplace'>;
  installs: ReadonlyMap<string, Install>;
  adapters: ReadonlyMap<string, Adapter>;
  clock: Clock;
}

export interface ExplainedSubject {
  /** Empty where nothing is known of such a trainer or contract. */
  explanations: Explanation[];
  budgets: Awaited<ReturnType<typeof explainBudgets>>;
  /** What keeps a change from being made: no instance runs. */
  attention: Attention[];
}

/**
 * Why a trainer has access or not, and what is missing for it.
 *
 * @param subject the id or work address of a trainer, or the id of a contract
 */
export async function explainSubject(
  { database, box, config, installs, adapters, clock }: ExplainDeps,
  subject: string,
): Promise<ExplainedSubject> {
  const routeLink = createLinkRouter(installs, adapters);
  const bearing = await createExplainStore(database, box).load(subject);
  const { instances, tools, attention } = await loadRunning(database, clock);
  const troubles = new Map(tools.flatMap(({ tool, trouble }) => (trouble === null ? [] : [[tool, trouble] as const])));
  const { managedDomains } = config.marketplace;
  const explanations = explain(bearing, { installs, adapters, routeLink, managedDomains, troubles });
  const isRunning = instances.some(({ state }) => state === 'running');
  return {
    explanations,
    budgets: await explainBudgets(database, subject),
    attention: isRunning || !explanations.some(isToChange) ? [] : attention,
  };
}

/** Whether a running bridge would still change something. */
function isToChange({ action }: Explanation): boolean {
  return action.startsWith('wait: ') || action.includes('still in');
}
