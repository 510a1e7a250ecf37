import { countBudgetsByState } from '../budget/budget-store.ts';
import { countReceipts } from '../converge/receipt-store.ts';
import { countDeliveries } from '../inbox/delivery-count-store.ts';
import type { Trouble } from '../lib/troubles.ts';
import { countCleared } from '../memberships/clearance-store.ts';
import { countByState } from '../memberships/membership-list-store.ts';
import { type InstallState, listInstallStates } from '../reconcile/read/install-state-store.ts';
import { listPlans, type Plan } from '../removals/plan-store.ts';
import { countLowered } from '../usage/report/ledger-store.ts';
import { listTroubles, type Watched } from './list-troubles.ts';
import { type ConfigFile, loadInstances, type ShownInstance } from './load-running.ts';

/** How Gangway is doing, at a glance. */
export interface Status {
  /** Empty where no operator has to act. */
  troubles: Trouble[];
  memberships: Rows<typeof countByState>;
  installs: InstallState[];
  plans: Plan[];
  /** Active contracts, by install and by the last read state of their budget. */
  budgets: Rows<typeof countBudgetsByState>;
  instances: ShownInstance[];
  /** What follows is counted since then. */
  since: string;
  deliveries: Rows<typeof countDeliveries>;
  receipts: Rows<typeof countReceipts>;
  removals: Rows<typeof countCleared>;
  /** Days whose usage was reported lower than before. */
  lowered: Rows<typeof countLowered>;
}

type Rows<Count extends (...args: never[]) => unknown> = Awaited<ReturnType<Count>>;

export async function loadStatus(ctx: Watched, since: string, file?: ConfigFile): Promise<Status> {
  const { kysely } = ctx.database;
  const isConfigured = ({ install }: { install: string }) => ctx.installs.has(install);
  return {
    troubles: await listTroubles(ctx, file),
    memberships: (await countByState(kysely)).sort(
      (a, b) => a.tool.localeCompare(b.tool) || a.state.localeCompare(b.state),
    ),
    installs: (await listInstallStates(ctx)).filter(isConfigured),
    plans: await listPlans(ctx, { state: 'open' }),
    budgets: (await countBudgetsByState(ctx)).filter(isConfigured),
    instances: await loadInstances(ctx, ctx.clock.now()),
    since,
    deliveries: await countDeliveries(kysely, since),
    receipts: await countReceipts(kysely, since),
    removals: await countCleared(kysely, since),
    lowered: await countLowered(ctx, since),
  };
}
