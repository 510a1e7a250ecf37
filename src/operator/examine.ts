import type { Adapter } from '../adapters/adapter.ts';
import type { Config } from '../config/config-schema.ts';
import type { Database } from '../db/database.ts';
import { findOrphans } from '../engine/find-orphans.ts';
import { createLinkRouter } from '../engine/link-router.ts';
import { createMembershipStore } from '../engine/membership-store.ts';
import { createOrphanStore } from '../engine/orphan-store.ts';
import { type Clock, instantIn } from '../lib/clock.ts';
import { type Check, checkClock, checkOrphaned, checkWalls, ok, warning } from './doctor-checks.ts';
import { createLinkStore } from './link-store.ts';
import { loadStatus } from './load-status.ts';

export interface Examined {
  config: Config;
  database: Database;
  adapters: ReadonlyMap<string, Adapter>;
  clock: Clock;
}

/** Looks at what is in the database, beside the configuration. Changes nothing. */
export async function examine(subject: Examined): Promise<Check[]> {
  const { config, database, clock } = subject;
  return [
    await checkClock(database, clock),
    checkOrphaned(await findOrphans(toOrphanDeps(subject))),
    ...checkWalls(config.installs, await createLinkStore(database).live()),
    ...(await checkWork(subject)),
  ];
}

function toOrphanDeps({ config, database, adapters }: Examined) {
  return {
    database,
    orphans: createOrphanStore(database),
    memberships: createMembershipStore(database),
    managedDomains: config.marketplace.managedDomains,
    rules: { routeLink: createLinkRouter(config.installs, adapters), graces: config.removals },
  };
}

async function checkWork({ config, database, clock }: Examined): Promise<Check[]> {
  const { attention } = await loadStatus(database, instantIn(clock, 0), config.installs);
  if (attention.length === 0) return [ok('work', 'nothing waits for somebody')];
  return attention.map(({ says, action }) => warning('work', says, action));
}
