import type { Context } from '../context.ts';
import { readDatabaseSize } from '../db/database-size.ts';
import { listInstances } from '../db/instance-store.ts';
import { type Instance, isInstanceRunning } from '../domain/instance.ts';
import { countDueDeliveries } from '../inbox/inbox-store.ts';
import type { Metrics } from '../lib/metrics.ts';
import { alertKinds } from '../lib/troubles.ts';
import { countByState } from '../memberships/membership-list-store.ts';
import { countStandingAlerts } from '../notify/alert-store.ts';
import { listRemoved } from '../removals/removal-total-store.ts';
import { listOldestWaiting, listReadBegan, waitingKinds } from './waiting-store.ts';

/** Rows of the database are counted when the metrics are requested. */
export async function measure(ctx: Context): Promise<void> {
  const { metrics, database, clock } = ctx;
  const [due, counts, totals, instances] = await Promise.all([
    countDueDeliveries(ctx),
    countByState(database.kysely),
    listRemoved(database),
    listInstances(database.kysely),
  ]);
  metrics.dueDeliveries.set(due);
  metrics.memberships.reset();
  for (const { tool, state, count } of counts) metrics.memberships.set({ tool, state }, count);
  measureInstances(metrics, instances, clock.now());
  metrics.removals.reset();
  for (const { install, removed } of totals) metrics.removals.inc({ install }, removed);
  await measureAlerts(ctx);
  await measureAges(ctx);
  metrics.databaseBytes.set(await readDatabaseSize(database));
}

async function measureAlerts(ctx: Context): Promise<void> {
  for (const kind of alertKinds) ctx.metrics.alertsActive.set({ kind }, 0);
  for (const { kind, count } of await countStandingAlerts(ctx)) {
    ctx.metrics.alertsActive.set({ kind }, count);
  }
}

/** What waits for an install that is gone waits for ever, so it is not counted. */
async function measureAges({ metrics, database, installs, clock }: Context): Promise<void> {
  const now = clock.now().getTime();
  const ageOf = (since: string) => Math.max(0, (now - Date.parse(since)) / 1000);
  const ages = new Map<string, number>(waitingKinds.map((kind) => [kind, 0]));
  for (const { kind, install, since } of await listOldestWaiting(database)) {
    if (install !== null && !installs.has(install)) continue;
    ages.set(kind, Math.max(ages.get(kind) ?? 0, ageOf(since)));
  }
  for (const [kind, age] of ages) metrics.oldestWaiting.set({ kind }, age);
  const readings = await listReadBegan(database);
  metrics.readAge.reset();
  for (const { install, beganAt } of readings) {
    if (beganAt !== null && installs.has(install)) metrics.readAge.set({ install }, ageOf(beganAt));
  }
}

function measureInstances(metrics: Metrics, instances: readonly Instance[], now: Date): void {
  const unstopped = instances.filter(({ stoppedAt }) => stoppedAt === null);
  const running = unstopped.filter((instance) => isInstanceRunning(instance, now)).length;
  metrics.instances.set({ state: 'running' }, running);
  metrics.instances.set({ state: 'silent' }, unstopped.length - running);
  metrics.beatAge.reset();
  for (const { name, version, beatAt } of unstopped) {
    metrics.beatAge.set({ instance: name, version }, (now.getTime() - Date.parse(beatAt)) / 1000);
  }
}
