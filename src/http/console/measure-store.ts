import { type RawBuilder, sql } from 'kysely';
import { countBudgetsByState } from '../../budget/budget-store.ts';
import type { Context } from '../../context.ts';
import type { Database } from '../../db/database.ts';
import { type Instance, isInstanceRunning, listInstances } from '../../db/instance-store.ts';
import { readDatabaseSize } from '../../db/sqlite-file.ts';
import { countDueDeliveries } from '../../inbox/inbox-store.ts';
import { listFailingJobs } from '../../jobs/job-store.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Metrics } from '../../lib/metrics.ts';
import { alertKinds } from '../../lib/troubles.ts';
import { countByState } from '../../memberships/membership-list-store.ts';
import { countOpenAlerts } from '../../notify/alert-store.ts';
import { listRemoved } from '../../removals/brake-store.ts';

/** Sets the metrics that are counted in the database, each time they are requested. */
export async function measure(ctx: Context): Promise<void> {
  const { metrics, database, installs, clock } = ctx;
  const [due, memberships, removals, instances, readings, budgets, jobs] = await Promise.all([
    countDueDeliveries(ctx),
    countByState(database.kysely),
    listRemoved(database),
    listInstances(database.kysely),
    database.kysely.selectFrom('installState').select(['install', 'readBeganAt as beganAt']).execute(),
    countBudgetsByState(ctx),
    listFailingJobs(ctx, 1),
  ]);
  metrics.dueDeliveries.set(due);
  metrics.memberships.reset();
  for (const { tool, state, count } of memberships) metrics.memberships.set({ tool, state }, count);
  metrics.removals.reset();
  for (const { install, removed } of removals) metrics.removals.inc({ install }, removed);
  measureInstances(metrics, instances, clock);
  for (const kind of alertKinds) metrics.alertsActive.set({ kind }, 0);
  for (const { kind, count } of await countOpenAlerts(ctx)) metrics.alertsActive.set({ kind }, count);
  await measureWaiting(ctx);
  metrics.readAge.reset();
  for (const { install, beganAt } of readings.filter((one) => installs.has(one.install))) {
    if (beganAt !== null) metrics.readAge.set({ install }, secondsSince(beganAt, clock));
  }
  metrics.jobsFailing.reset();
  // The jobs of a removed install no longer run, so they are not counted.
  for (const { kind, install, count } of jobs) {
    if (install === '' || installs.has(install)) metrics.jobsFailing.set({ kind, install }, count);
  }
  metrics.budgets.reset();
  for (const { install, state, count } of budgets) metrics.budgets.set({ install, state }, count);
  metrics.databaseBytes.set(await readDatabaseSize(database));
}

/** What waits for a removed install would wait for ever, so it is not counted. */
async function measureWaiting({ metrics, database, installs, clock }: Context): Promise<void> {
  const ages = new Map(Object.keys(oldestWaiting).map((kind) => [kind, 0]));
  for (const { kind, install, since } of await listOldestWaiting(database)) {
    if (install !== null && !installs.has(install)) continue;
    ages.set(kind, Math.max(ages.get(kind) ?? 0, secondsSince(since, clock)));
  }
  for (const [kind, age] of ages) metrics.oldestWaiting.set({ kind }, age);
}

function secondsSince(instant: string, clock: Clock): number {
  return Math.max(0, (clock.now().getTime() - Date.parse(instant)) / 1000);
}

function measureInstances(metrics: Metrics, instances: readonly Instance[], clock: Clock): void {
  const unstopped = instances.filter(({ stoppedAt }) => stoppedAt === null);
  const running = unstopped.filter((instance) => isInstanceRunning(instance, clock.now())).length;
  metrics.instances.set({ state: 'running' }, running);
  metrics.instances.set({ state: 'silent' }, unstopped.length - running);
  metrics.beatAge.reset();
  for (const { name, version, beatAt } of unstopped) {
    metrics.beatAge.set({ instance: name, version }, secondsSince(beatAt, clock));
  }
}

/** The oldest thing of a kind that waits, and since when. */
export interface Waiting {
  kind: WaitingKind;
  /** Null for kinds that do not depend on whether the install still exists. */
  install: string | null;
  since: string;
}

/** One for each kind, or several of which one is the oldest. */
export async function listOldestWaiting({ kysely }: Pick<Database, 'kysely'>): Promise<Waiting[]> {
  const { rows } =
    await sql<Waiting>`${sql.join(Object.values<RawBuilder<unknown>>(oldestWaiting), sql` union all `)}`.execute(
      kysely,
    );
  return rows.filter(({ since }) => since !== null);
}

/**
 * These run on every scrape, so each finds the oldest row by an index, or reads a table with one row per install.
 * Exported for a test that asks the database for the plan of each query.
 */
export const oldestWaiting = {
  // The ids of deliveries grow with time.
  delivery: oldestOfEachInstall('delivery', sql`next_attempt_at is not null`, sql`received_at`, sql`id`, sql`null`),
  read_request: oldestOfEachInstall('read_request', sql`true`, sql`wanted_at`, sql`wanted_at`, sql`turn.install`),
  install_read: sql`select 'install_read' as kind, install, coalesce(failing_since, due_at) as since from job
    where kind = 'reconcile'`,
  work_email: oldestUnmet('work_email', 1, ['waiting_email']),
  membership: oldestUnmet('membership', 1, ['pending', 'failed']),
  removal: oldestUnmet('removal', 0, ['removing', 'failed']),
  removal_held: oldest('removal_held', sql`select min(created_at) from plan where state = 'open'`),
  invitation: oldest(
    'invitation',
    sql`select created_at from invitation where delivered_at is null and content is not null and exists (
      select 1 from membership
        where membership.id = membership_id and wanted = 1 and state in ('invited', 'active')
    ) order by created_at limit 1`,
  ),
  lowering_held: oldest(
    'lowering_held',
    sql`select min(lowering_held_at) from usage_ledger where lowering_held_at is not null`,
  ),
  notification: oldest('notification', sql`select min(created_at) from dispatch where settled_at is null`),
};

export type WaitingKind = keyof typeof oldestWaiting;

function oldest(kind: string, since: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`select ${sql.lit(kind)} as kind, cast(null as text) as install, (${since}) as since`;
}

function oldestUnmet(kind: string, wanted: 0 | 1, states: readonly string[]): RawBuilder<unknown> {
  const each = states.map((state) =>
    oldest(
      kind,
      sql`select min(unmet_since) from membership
        where wanted = ${sql.lit(wanted)} and state = ${sql.lit(state)} and unmet_since is not null`,
    ),
  );
  return sql.join(each, sql` union all `);
}

/** Skips from install to install in an index. */
function oldestOfEachInstall(
  kind: 'delivery' | 'read_request',
  isWaiting: RawBuilder<unknown>,
  since: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
  install: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const table = sql.table(kind);
  return sql`select * from (
    with recursive turn (install) as (
      select min(install) from ${table} where ${isWaiting}
      union all
      select (select min(install) from ${table} where ${isWaiting} and install > turn.install)
        from turn where turn.install is not null
    )
    select ${sql.lit(kind)} as kind, cast(${install} as text) as install, (
      select ${since} from ${table} where ${isWaiting} and ${table}.install = turn.install order by ${order} limit 1
    ) as since from turn where turn.install is not null
  ) as oldest`;
}
