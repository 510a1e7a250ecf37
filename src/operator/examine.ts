import type { Adapter } from '../adapters/adapter.ts';
import type { Config } from '../config/config-schema.ts';
import type { Install } from '../domain/install.ts';
import { listLiveLinks } from '../evidence/link-store.ts';
import type { Storage } from '../keys/storage.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import { findOrphans } from '../memberships/find-orphans.ts';
import { createLinkRouter } from '../memberships/link-router.ts';
import { describeSharedAccounts, findSharedAccounts } from '../tools/account-rules.ts';
import { loadRunning } from './about-instances.ts';
import { type Check, checkClock, checkOrphaned, checkWalls, ok, warning } from './doctor-checks.ts';
import { loadPresent, toMailed } from './load-status.ts';

export interface Examined extends Storage {
  config: Config;
  /** All installs, of the configuration and of the database. */
  installs: ReadonlyMap<string, Install>;
  adapters: ReadonlyMap<string, Adapter>;
  clock: Clock;
}

/** Checks the database and the configuration. Changes nothing. */
export async function examine(subject: Examined): Promise<Check[]> {
  const { installs, adapters, database } = subject;
  return [
    await checkClock(database, subject.clock),
    ...(await checkRunning(subject)),
    checkOrphaned(await findOrphans(subject, subject.config, createLinkRouter(installs, adapters))),
    ...checkWalls({ installs, adapters }, await listLiveLinks(subject)),
    ...checkAccounts(subject),
    ...(await checkWork(subject)),
  ];
}

async function checkRunning(ctx: Examined): Promise<Check[]> {
  const { instances, attention } = await loadRunning(ctx, ctx.clock);
  const running = instances.filter(({ state }) => state === 'running');
  const names = running.map(({ name, version }) => `${name} (${version})`).join(', ');
  return [
    ...(running.length === 0 ? [] : [ok('running', `instances: ${running.length}: ${names}`)]),
    ...attention.map(({ says, action }) => warning('running', says, action)),
  ];
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

async function checkWork(ctx: Examined): Promise<Check[]> {
  const now = toInstant(ctx.clock.now());
  const { attention } = await loadPresent(ctx, ctx.installs, toMailed(ctx.config, now));
  if (attention.length === 0) return [ok('work', 'nothing waits for an operator')];
  return attention.map(({ says, action }) => warning('work', says, action));
}
