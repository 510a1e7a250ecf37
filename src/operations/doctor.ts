import { z } from 'zod';
import type { Adapter } from '../adapters/adapter.ts';
import type { Config } from '../config/config-schema.ts';
import { warningsOf } from '../config/cross-checks.ts';
import type { Context, Storage } from '../context.ts';
import type { Database } from '../db/database.ts';
import { measureAheadMs } from '../db/database-clock.ts';
import type { Install } from '../domain/install.ts';
import { type Clock, hourMs } from '../lib/clock.ts';
import { sayCount } from '../lib/text.ts';
import { sayInFull, type Trouble } from '../lib/troubles.ts';
import { findOrphans, type Orphan } from '../memberships/orphan-store.ts';
import { createLinkRouter } from '../memberships/wall.ts';
import { findSharedAccounts } from '../tools/accounts.ts';
import { Check, checkColumns, nameApart, ok, warning } from './check.ts';
import { examineMarketplace } from './check-marketplace.ts';
import { checkWalls, examineTools } from './check-tools.ts';
import { listTroubles } from './list-troubles.ts';
import { act, group } from './operation.ts';
import { table } from './show.ts';
import { loadInstances } from './trouble.ts';

/** What `gangway doctor` checks, in a running instance. Changes nothing. Every question has a time-out. */
export async function examineBridge(ctx: Context, signal: AbortSignal): Promise<Check[]> {
  const { config, sources } = ctx;
  const [tools, marketplace, stored] = await Promise.all([
    examineTools(ctx, ctx, signal),
    examineMarketplace(sources, config, signal),
    examineStored(ctx),
  ]);
  return [...checkConfiguration(config, warningsOf(config)), ...tools, ...marketplace, ...stored];
}

/** The configuration and its channels. Nothing is sent. @param warnings each begins with its key */
export function checkConfiguration(
  {
    installs,
    tools,
    notifications,
  }: Record<'installs' | 'tools', ReadonlyMap<string, unknown>> & Pick<Config, 'notifications'>,
  warnings: readonly string[],
): Check[] {
  const stored = installs.size === 0 ? 'installs are stored in the database' : sayCount(installs.size, 'install');
  return [
    ...nameApart([
      ok('configuration', `${sayCount(tools.size, 'tool')}; ${stored}`),
      ...warnings.map((line) => warning('configuration', line, 'Change it, unless it is intended')),
    ]),
    ...checkChannels(notifications),
  ];
}

function checkChannels({ channels, repeatMs }: Config['notifications']): Check[] {
  if (channels.size === 0) return [];
  const says = `${sayCount(channels.size, 'channel')}; notices of unchanged budgets repeat after ${repeatMs / hourMs} h`;
  const how = 'valid; "gangway notifications test" sends a message';
  return [
    ok('notifications', says),
    ...[...channels].map(([name, channel]) => {
      // Only the host of a URL: the rest may be a secret that allows to post there.
      const where =
        channel.type === 'mail'
          ? `Mail to ${sayCount(channel.to.length, 'address', 'addresses')} by mail.smtp`
          : `${channel.type} at ${new URL(channel.url).host}`;
      return ok(`channel ${name}`, `${where}: ${how}`);
    }),
  ];
}

/** What a command has before any service runs. Every `Context` has it. */
interface Stored extends Storage {
  config: Config;
  /** All installs, of the configuration and of the database. */
  installs: ReadonlyMap<string, Install>;
  adapters: ReadonlyMap<string, Adapter>;
  clock: Clock;
}

/** Checks the database, and the configuration against what is stored. Changes nothing. */
export async function examineStored(ctx: Stored): Promise<Check[]> {
  const { installs, adapters, database } = ctx;
  return [
    await checkClock(database, ctx.clock),
    ...(await checkInstances(ctx)),
    checkOrphaned(await findOrphans(ctx, createLinkRouter(installs, adapters))),
    ...checkWalls(ctx),
    ...checkAccounts(ctx),
    ...(await checkTroubles(ctx)),
  ];
}

const tolerableMs = 5_000;

export async function checkClock(database: Database, clock: Clock): Promise<Check> {
  const aheadMs = await measureAheadMs(database, clock);
  const says = `The database's clock is ${Math.abs(aheadMs)} ms ${aheadMs < 0 ? 'behind' : 'ahead'}`;
  if (Math.abs(aheadMs) <= tolerableMs) return ok('clock', says);
  return warning('clock', says, 'Keep both clocks right by NTP. Signatures are refused beyond 300 s');
}

async function checkInstances(ctx: Stored): Promise<Check[]> {
  const running = (await loadInstances(ctx, ctx.clock.now())).filter(({ state }) => state === 'running');
  const names = running.map(({ name, version }) => `${name} (${version})`).join(', ');
  return running.length === 0 ? [] : [ok('instances', `Running: ${names}`)];
}

function checkOrphaned(orphans: Orphan[]): Check {
  if (orphans.length === 0) return ok('orphans', 'The configuration covers every member in a tool');
  const installs = [...new Set(orphans.map(({ install }) => install))].join(', ');
  return {
    name: 'orphans',
    status: 'failure',
    says: `The configuration no longer covers ${sayCount(orphans.length, 'member')} of ${installs}`,
    action: 'Put the name of the install, tool or project back, or start with --accept-orphans',
  };
}

function checkAccounts({ config, installs, adapters }: Stored): Check[] {
  const action =
    'Set marketplace.managedDomains to the domains of work emails, or give each customer a tool of its own';
  return findSharedAccounts(adapters, installs, config.marketplace.managedDomains).map((shared) =>
    warning(`accounts in ${shared.tool}`, shared.warning, action),
  );
}

/** What `gangway status` lists. */
async function checkTroubles(ctx: Stored): Promise<Check[]> {
  const troubles = await listTroubles(ctx);
  return troubles.length === 0 ? [ok('troubles', 'Nothing needs you')] : nameApart(troubles.map(toCheck));
}

function toCheck(trouble: Trouble): Check {
  const { kind, severity, install, tool, action } = trouble;
  // People run `doctor` before the first start.
  const isFailure = severity === 'down' && kind !== 'nothing_runs';
  return {
    name: [kind, install ?? tool ?? ''].join(' ').trim(),
    status: isFailure ? 'failure' : 'warning',
    says: sayInFull(trouble),
    action,
  };
}

const order = ['failure', 'warning', 'ok'];

export const operations = group('doctor', {
  run: act('POST /doctor', 'Examine configuration, tools, marketplace, database and clocks, and say what to do', {
    hasCommand: false,
    in: z.strictObject({}),
    out: z.object({ checks: z.array(Check).describe('The problems first.') }),
    async run(_none, { examine }, { signal }) {
      const checks = await examine(signal);
      return { checks: checks.toSorted((one, other) => order.indexOf(one.status) - order.indexOf(other.status)) };
    },
    show: table(checkColumns, 'There was nothing to examine.', 'checks'),
  }),
});
