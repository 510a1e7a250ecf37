import type { Adapter } from '../adapters/adapter.ts';
import type { Config } from '../config/config-schema.ts';
import type { Database } from '../db/database.ts';
import { createLinkStore } from '../evidence/link-store.ts';
import type { Install } from '../installs/install.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import { createAddressStore } from '../memberships/address-store.ts';
import { findOrphans } from '../memberships/find-orphans.ts';
import { createLinkRouter } from '../memberships/link-router.ts';
import { createMembershipStore } from '../memberships/membership-store.ts';
import { createOrphanStore } from '../memberships/orphan-store.ts';
import { describeSharedAccounts, findSharedAccounts } from '../tools/account-rules.ts';
import { loadRunning } from './about-instances.ts';
import { type Check, checkClock, checkOrphaned, checkWalls, ok, warning } from './doctor-checks.ts';
import { loadPresent, toMailed } from './load-status.ts';

export interface Examined {
  config: Config;
  /** All installs, of the configuration and of the database. */
  installs: ReadonlyMap<string, Install>;
  database: Database;
  box: SecretBox;
  adapters: ReadonlyMap<string, Adapter>;
  clock: Clock;
}

/** Checks the database and the configuration. Changes nothing. */
export async function examine(subject: Examined): Promise<Check[]> {
  const { installs, adapters, database, clock } = subject;
  return [
    await checkClock(database, clock),
    ...(await checkRunning(database, clock)),
    checkOrphaned(await findOrphans(toOrphanDeps(subject))),
    ...checkWalls({ installs, adapters }, await createLinkStore(database).live()),
    ...checkAccounts(subject),
    ...(await checkWork(subject)),
  ];
}

async function checkRunning(database: Database, clock: Clock): Promise<Check[]> {
  const { instances, attention } = await loadRunning(database, clock);
  const running = instances.filter(({ state }) => state === 'running');
  const names = running.map(({ name, version }) => `${name} (${version})`).join(', ');
  return [
    ...(running.length === 0 ? [] : [ok('running', `instances: ${running.length}: ${names}`)]),
    ...attention.map(({ says, action }) => warning('running', says, action)),
  ];
}

function toOrphanDeps({ config, installs, database, box, adapters }: Examined) {
  return {
    database,
    orphans: createOrphanStore(database),
    memberships: createMembershipStore(database),
    addresses: createAddressStore(box),
    managedDomains: config.marketplace.managedDomains,
    rules: { routeLink: createLinkRouter(installs, adapters), gracePeriods: config.removals },
  };
}

function checkAccounts({ config, installs, adapters }: Examined): Check[] {
  const { managedDomains } = config.marketplace;
  return findSharedAccounts(adapters, installs, managedDomains).map((shared) =>
    warning(
      `tool ${shared.tool}`,
      describeSharedAccounts(shared),
      'set marketplace.managedDomains to the domains of work addresses, or give each customer a tool of its own',
    ),
  );
}

async function checkWork({ config, installs, database, clock }: Examined): Promise<Check[]> {
  const now = toInstant(clock.now());
  const { attention } = await loadPresent(database, installs, toMailed(config, now));
  if (attention.length === 0) return [ok('work', 'nothing waits for an operator')];
  return attention.map(({ says, action }) => warning('work', says, action));
}
