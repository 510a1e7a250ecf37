import { countBudgetsByState } from '../budget/budget-store.ts';
import type { Context } from '../context.ts';
import { countReceipts, listMetAfter, type MetAfter } from '../converge/receipt-store.ts';
import { percentileOf } from '../domain/percentile.ts';
import { countDeliveries } from '../inbox/delivery-count-store.ts';
import { instantIn } from '../lib/clock.ts';
import type { Trouble } from '../lib/troubles.ts';
import { countCleared } from '../memberships/clearance-store.ts';
import { countByState } from '../memberships/membership-list-store.ts';
import { listPlans, type Plan } from '../removals/plan-store.ts';
import { countLowered } from '../usage/report/ledger-store.ts';
import { type ListedInstall, listInstalls } from './list-installs.ts';
import { listTroubles } from './list-troubles.ts';
import { type ConfigFile, loadInstances, type ShownInstance } from './load-running.ts';

const dayMs = 86_400_000;

/** How Gangway is doing, at a glance. */
export interface Status {
  /** Empty where no operator has to act. */
  troubles: Trouble[];
  memberships: Rows<typeof countByState>;
  installs: ListedInstall[];
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
  times: { what: 'access' | 'lock_out'; day: Times; month: Times }[];
}

/** How long trainers waited. */
interface Times {
  count: number;
  medianMs: number | null;
  p95Ms: number | null;
}

type Rows<Count extends (...args: never[]) => unknown> = Awaited<ReturnType<Count>>;

export async function loadStatus(ctx: Context, since: string, file?: ConfigFile): Promise<Status> {
  const { kysely } = ctx.database;
  const isConfigured = ({ install }: { install: string }) => ctx.installs.has(install);
  const troubles = await listTroubles(ctx, file);
  return {
    troubles,
    memberships: (await countByState(kysely)).sort(
      (a, b) => a.tool.localeCompare(b.tool) || a.state.localeCompare(b.state),
    ),
    installs: await listInstalls(ctx, [...ctx.installs].sort(), troubles),
    plans: await listPlans(ctx, { state: 'open' }),
    budgets: (await countBudgetsByState(ctx)).filter(isConfigured),
    instances: await loadInstances(ctx, ctx.clock.now()),
    since,
    deliveries: await countDeliveries(kysely, since),
    receipts: await countReceipts(kysely, since),
    removals: await countCleared(kysely, since),
    lowered: await countLowered(ctx, since),
    times: await measureTimes(ctx),
  };
}

async function measureTimes({ database, clock }: Context): Promise<Status['times']> {
  const met = await listMetAfter(database.kysely, instantIn(clock, -30 * dayMs));
  const yesterday = instantIn(clock, -dayMs);
  const of = (what: 'access' | 'lock_out') => {
    const all = met.filter(({ isAccess }) => isAccess === (what === 'access'));
    return { what, day: toTimes(all.filter(({ at }) => at >= yesterday)), month: toTimes(all) };
  };
  return [of('access'), of('lock_out')].filter(({ month }) => month.count > 0);
}

function toTimes(met: readonly MetAfter[]): Times {
  const ms = met.map((one) => one.ms);
  return { count: ms.length, medianMs: percentileOf([...ms], 0.5) ?? null, p95Ms: percentileOf([...ms], 0.95) ?? null };
}
