import { onTestFinished } from 'vitest';
import { Config } from '../../src/config/config-schema.ts';
import type { Context } from '../../src/context.ts';
import type { Database } from '../../src/db/database.ts';
import type { Install } from '../../src/domain/install.ts';
import { createInstallRegistry, type InstallRegistry } from '../../src/installs/install-registry.ts';
import { saveConnectedInstall } from '../../src/installs/install-store.ts';
import { type RotateOptions, rotateToken } from '../../src/installs/rotate-token.ts';
import { type Clock, systemClock, toInstant } from '../../src/lib/clock.ts';
import type { NewAccount } from '../../src/sandbox/control-request-schema.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { createTestContext } from './engine-harness.ts';
import { storageOf } from './storage-of.ts';

/** The scopes that Gangway needs of an employer's own token. */
export const ownAccountScopes: NonNullable<NewAccount['scopes']> = [
  'payments:read',
  'messages:read',
  'participant_work_email:read',
  'webhooks:manage',
  'instructions:read',
];

/** An employer's account at the sandbox, which several processes use over one database. */
export interface TokenWorld {
  sandbox: Sandbox;
  accountId: string;
  /** The first token of the account. */
  token: string;
  database: Database;
  /** As by command: the install is in the database. */
  connect(install: string, token: string): Promise<void>;
  /** A process that has just started, with the token of the configuration by default. */
  open(options?: ProcessOptions): Promise<Process>;
  /** Of the account, as the sandbox knows them, the oldest first. */
  tokens(): Token[];
  active(): Token[];
  /** Makes one with the first token, while that is active, as in the settings of the account. */
  makeToken(wanted?: { scopes?: string[]; expiresAt?: string }): Promise<MadeByHand>;
}

interface MadeByHand {
  token: string;
  metadata: { id: string };
}

export type Token = ReturnType<Sandbox['snapshot']>['accounts'][number]['tokens'][number];

export interface ProcessOptions {
  /** By the name of the install; of the account's first token by default. */
  configured?: Record<string, string>;
  source?: Install['source'];
}

export interface Process {
  registry: InstallRegistry;
  ctx: Context;
  rotate(options?: Partial<RotateOptions>): ReturnType<typeof rotateToken>;
  /** Asks the marketplace who it is, with the token that is in use. @returns the id of the token */
  tokenId(install?: string): Promise<string | null | undefined>;
}

/** Never aborted. One with a time limit would run from when this file was loaded, and all files of a worker share it. */
export const { signal } = new AbortController();

export async function openTokenWorld(database: Database, clock: Clock = systemClock): Promise<TokenWorld> {
  const sandbox = createSandbox({ timeScale: 0, clock });
  const { baseUrl, employerBaseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const { accountId, token } = sandbox.createAccount();
  const { id: jobId } = sandbox.createJob({ accountId });
  sandbox.hire({ jobId });
  const storage = storageOf(database);
  const tokens = () => sandbox.snapshot().accounts.find(({ id }) => id === accountId)?.tokens ?? [];

  return {
    sandbox,
    accountId,
    token,
    database,
    tokens,
    active: () => tokens().filter(({ status }) => status === 'active'),
    async connect(install, used) {
      const connected = {
        install,
        token: used,
        tool: 'list',
        projects: ['*'],
        grantId: accountId,
        organizationId: accountId,
      };
      const connectedAt = toInstant(clock.now());
      await saveConnectedInstall(storage, { ...connected, source: 'employer', connectedAt });
    },
    async makeToken(wanted = {}) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ name: 'by hand', ...wanted });
      return (await (await fetch(`${employerBaseUrl}/tokens`, { method: 'POST', headers, body })).json()) as MadeByHand;
    },
    async open({ configured = { own: token }, source = 'employer' } = {}) {
      const installs = new Map(
        Object.entries(configured).map(([name, used]) => [name, { ...toInstall(used, jobId), source }]),
      ) as Config['installs'];
      const config = { ...Config.parse({ marketplace: { baseUrl, employerBaseUrl } }), installs };
      const registry = createInstallRegistry(storage, config);
      await registry.load();
      const ctx = createTestContext(database, {
        ...storage,
        config,
        clock,
        installs: registry.installs,
        sources: registry.sources,
      });
      const [first = ''] = registry.installs.keys();
      const by = () => ({ actor: 'ops', at: toInstant(clock.now()) });
      return {
        registry,
        ctx,
        rotate: (options) => rotateToken(ctx, registry, first, { keep: [], by: by(), ...options }, signal),
        tokenId: async (install = first) => (await registry.sources.get(install)?.readGrant(signal))?.token?.id,
      };
    },
  };
}

function toInstall(token: string, jobId: string): Omit<Install, 'livesIn'> {
  const jobs = new Map([[jobId, 'signs']]);
  return { source: 'employer', token, jobs, webhookSecrets: [], tool: 'list', projects: ['*'], guidelines: false };
}
