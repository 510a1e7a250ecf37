import { randomBytes } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import { Config } from '../../src/config/config-schema.ts';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { AppError } from '../../src/domain/errors.ts';
import { createInstallRegistry, type InstallRegistry } from '../../src/installs/install-registry.ts';
import {
  type ConnectedInstall,
  removeConnectedInstall,
  removeEndpoint,
  saveConnectedInstall,
  saveEndpoint,
} from '../../src/installs/install-store.ts';
import { createInstallsWorker } from '../../src/installs/installs-worker.ts';
import { createSecretBox } from '../../src/keys/secret-box.ts';
import { createTestContext, startLoops } from '../support/engine-harness.ts';
import { describeAnyDatabase } from '../support/tries.ts';
import { until } from '../support/until.ts';

const at = '2026-03-15T12:00:00.000Z';
const config = Config.parse({
  marketplace: { baseUrl: 'http://127.0.0.1:1', employerBaseUrl: 'http://127.0.0.1:1' },
});
const box = createSecretBox(randomBytes(32));
const acme: ConnectedInstall = {
  install: 'acme',
  source: 'platform',
  token: 'ot_ptk_acme',
  tool: 'studio',
  projects: ['acme-*'],
  grantId: 'ins_1',
  organizationId: 'org_1',
  connectedAt: at,
};
const ofPlatform = { source: 'platform', jobs: new Map(), guidelines: false } as const;
const inFile = { ...ofPlatform, token: 'ot_ptk_globex', webhookSecrets: ['whsec_file'], tool: 'studio' };

describeAnyDatabase('the registry of installs', (openFresh) => {
  let database: Database;
  let registry: InstallRegistry;

  function open(configured = new Map([['globex', { ...inFile, projects: ['globex-*'] }]])) {
    return createInstallRegistry({ database, box }, { ...config, installs: configured as Config['installs'] });
  }

  beforeEach(async () => {
    database = await openFresh();
    registry = open();
  });

  const save = (changes: Partial<ConnectedInstall> = {}) =>
    saveConnectedInstall({ database, box }, { ...acme, ...changes });

  it('has the configured and the connected installs', async () => {
    await save();
    expect(await registry.load()).toEqual(['globex', 'acme']);
    expect(Object.fromEntries(registry.installs)).toEqual({
      globex: { ...inFile, projects: ['globex-*'], livesIn: 'configuration' },
      acme: {
        ...ofPlatform,
        token: acme.token,
        webhookSecrets: [],
        tool: 'studio',
        projects: ['acme-*'],
        livesIn: 'database',
      },
    });
    expect([...registry.sources.keys()]).toEqual(['globex', 'acme']);
  });

  it('keeps the kind of source that an employer was connected with', async () => {
    await save({ source: 'employer', token: 'ot_pat_acme' });
    await registry.load();
    expect(registry.installs.get('acme')).toMatchObject({ source: 'employer', jobs: new Map() });
    expect(registry.sources.get('acme')?.hasSilentEnds).toBe(true);
  });

  it('updates its Maps with the changes of another instance', async () => {
    const { installs, sources } = registry;
    await registry.load();
    await save();
    expect(await registry.load()).toEqual(['acme']);
    expect(installs.has('acme')).toBe(true);
    expect(await registry.load()).toEqual([]);
    await inTransaction(database, (tx) => removeConnectedInstall(tx, 'acme'));
    expect(await registry.load()).toEqual(['acme']);
    expect([installs.has('acme'), sources.has('acme')]).toEqual([false, false]);
  });

  it('keeps a source while its token is the same, and creates another for another token', async () => {
    await save();
    await registry.load();
    const first = registry.sources.get('acme');
    await save({ projects: ['*'] });
    expect(await registry.load()).toEqual(['acme']);
    expect(registry.sources.get('acme')).toBe(first);
    await save({ projects: ['*'], token: 'ot_ptk_renewed' });
    expect(await registry.load()).toEqual([]);
    expect(registry.sources.get('acme')).not.toBe(first);
    expect(registry.installs.get('acme')?.token).toBe('ot_ptk_renewed');
  });

  it('adds the secrets of stored endpoints to those of the configuration', async () => {
    const storage = { database, box };
    const stored = { install: 'globex', endpointId: 'whe_1', storedAt: at };
    await saveEndpoint(storage, { ...stored, secret: 'whsec_stored' });
    await saveEndpoint(storage, { ...stored, endpointId: 'whe_2', secret: null });
    await registry.load();
    expect(registry.installs.get('globex')?.webhookSecrets).toEqual(['whsec_stored', 'whsec_file']);
    await removeEndpoint(storage, 'globex', 'whe_1');
    await registry.load();
    expect(registry.installs.get('globex')?.webhookSecrets).toEqual(['whsec_file']);
  });

  it('refuses one that is both configured and stored, and keeps what it had', async () => {
    await registry.load();
    await save({ install: 'globex' });
    await expect(registry.load()).rejects.toMatchObject({ code: 'conflict' });
    expect(registry.installs.get('globex')?.token).toBe(inFile.token);
  });

  it('stores no token and no secret in the clear', async () => {
    await save();
    const endpoint = { install: 'acme', endpointId: 'whe_1', secret: 'whsec_1', storedAt: at };
    await saveEndpoint({ database, box }, endpoint);
    const rows = [
      ...(await database.kysely.selectFrom('connectedInstall').selectAll().execute()),
      ...(await database.kysely.selectFrom('webhookEndpoint').selectAll().execute()),
    ];
    const bytes = Buffer.concat(rows.flatMap((row) => Object.values(row)).filter(Buffer.isBuffer));
    expect(bytes.length).toBeGreaterThan(0);
    for (const secret of [acme.token, endpoint.secret]) expect(bytes.includes(secret)).toBe(false);
    expect(JSON.stringify(rows)).not.toContain('ot_ptk');
  });

  it('loads at once for a caller that cannot wait, and reports the change', async () => {
    const reported: string[] = [];
    const ctx = createTestContext(database, { pollMs: 3_600_000 });
    const worker = createInstallsWorker(ctx, registry, async (changed) => {
      reported.push(...changed);
    });
    startLoops(worker);
    await until(
      'the first load is passed on',
      () => reported.join(),
      (names) => names === 'globex',
    );
    await save();
    await worker.load(AbortSignal.timeout(60_000));
    expect(registry.installs.has('acme')).toBe(true);
    await until(
      'the change is passed on',
      () => reported.join(),
      (names) => names === 'globex,acme',
    );
  });

  it('reports a change again until it was handled', async () => {
    const reported: string[][] = [];
    const worker = createInstallsWorker(createTestContext(database), registry, async (changed) => {
      reported.push(changed);
      if (reported.length === 1) throw new AppError('unavailable', 'The database could not be used');
    });
    startLoops(worker);
    const isDone = () => reported.at(-1)?.length === 0;
    await until('no change is left to report', isDone, (is) => is);
    expect(reported).toEqual([['globex'], ['globex'], []]);
  });
});
