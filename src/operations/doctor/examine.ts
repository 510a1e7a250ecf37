import type { Adapter } from '../../adapters/adapter.ts';
import type { Config } from '../../config/config-schema.ts';
import type { Install } from '../../domain/install.ts';
import { listLiveLinks } from '../../evidence/link-store.ts';
import type { Storage } from '../../keys/storage.ts';
import type { Clock } from '../../lib/clock.ts';
import { sayInFull, type Trouble } from '../../lib/troubles.ts';
import { findOrphans } from '../../memberships/find-orphans.ts';
import { createLinkRouter } from '../../memberships/link-router.ts';
import { listTroubles } from '../../operator/list-troubles.ts';
import { loadInstances } from '../../operator/load-running.ts';
import { describeSharedAccounts, findSharedAccounts } from '../../tools/account-rules.ts';
import { type Check, checkClock, checkOrphaned, checkWalls, nameApart, ok, warning } from './doctor-checks.ts';

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
    ...(await checkInstances(subject)),
    checkOrphaned(await findOrphans(subject, subject.config, createLinkRouter(installs, adapters))),
    ...checkWalls({ installs, adapters }, await listLiveLinks(subject)),
    ...checkAccounts(subject),
    ...(await checkTroubles(subject)),
  ];
}

async function checkInstances(ctx: Examined): Promise<Check[]> {
  const running = (await loadInstances(ctx, ctx.clock.now())).filter(({ state }) => state === 'running');
  const names = running.map(({ name, version }) => `${name} (${version})`).join(', ');
  return running.length === 0 ? [] : [ok('instances', `Running: ${names}`)];
}

function checkAccounts({ config, installs, adapters }: Examined): Check[] {
  const { managedDomains } = config.marketplace;
  return findSharedAccounts(adapters, installs, managedDomains).map((shared) =>
    warning(
      `accounts in ${shared.tool}`,
      describeSharedAccounts(shared),
      'Set marketplace.managedDomains to the domains of work emails, or give each customer a tool of its own',
    ),
  );
}

/** What `gangway status` lists, each by its kind. */
async function checkTroubles(ctx: Examined): Promise<Check[]> {
  const troubles = await listTroubles(ctx);
  return troubles.length === 0 ? [ok('troubles', 'Nothing needs you')] : nameApart(troubles.map(toCheck));
}

function toCheck(trouble: Trouble): Check {
  const { kind, severity, install, tool, action } = trouble;
  // The first doctor comes before the first start.
  const isFailure = severity === 'down' && kind !== 'nothing_runs';
  return {
    name: [kind, install ?? tool ?? ''].join(' ').trim(),
    status: isFailure ? 'failure' : 'warning',
    says: sayInFull(trouble),
    action,
  };
}
