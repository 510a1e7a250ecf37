import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { toInstant } from '../../src/lib/clock.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { createBridgeWorkspace, type Workspace } from '../support/bridge-workspace.ts';
import { sqlite } from '../support/databases.ts';
import { openEmployerJourney } from '../support/employer-journey.ts';
import { runCommand, startCommand } from '../support/run-command.ts';
import { isThorough } from '../support/tries.ts';
import { until } from '../support/until.ts';
import { consoleTokens } from '../support/visitor.ts';

const needed = [
  'payments:read',
  'messages:read',
  'participant_work_email:read',
  'webhooks:manage',
  'instructions:read',
];

/** How long the old token is kept. */
const drainMs = 25_000;

describe('gangway token', () => {
  let sandbox: Sandbox;
  let workspace: Workspace;
  let token: string;

  beforeEach(async () => {
    sandbox = createSandbox({ timeScale: 0 });
    const { baseUrl, employerBaseUrl } = await sandbox.start();
    onTestFinished(() => sandbox.stop());
    const account = sandbox.createAccount();
    token = account.token;
    const { id: jobId } = sandbox.createJob({ accountId: account.accountId });
    sandbox.hire({ jobId });
    const installs = { own: { source: 'employer', token, tool: 'list', jobs: { [jobId]: 'signs' } } };
    workspace = createBridgeWorkspace({
      marketplace: { baseUrl, employerBaseUrl },
      installs,
      feed: { every: '1s' },
    });
  });

  const run = (...argv: string[]) => runCommand(...argv, '--config', workspace.configFile);
  const tokens = () => sandbox.snapshot().accounts[0]?.tokens ?? [];

  /** Waits until the bridge uses the new token, then moves the stored times back, as if the drain time had passed. */
  async function passDrain(): Promise<void> {
    const [{ lastUsedAt: before } = { lastUsedAt: null }] = tokens().slice(-1);
    await until('the bridge has the new one', tokens, ([, made]) => (made?.lastUsedAt ?? '') > (before ?? ''));
    await workspace.withStorage(async ({ database: { kysely } }) => {
      const { switchedAt, nextAttemptAt } = await kysely
        .selectFrom('tokenRotation')
        .selectAll()
        .executeTakeFirstOrThrow();
      expect(Date.parse(nextAttemptAt ?? '') - Date.parse(switchedAt ?? '')).toBeGreaterThanOrEqual(drainMs);
      const earlier = (at: string | null) => toInstant(new Date(Date.parse(at ?? '') - drainMs));
      await kysely
        .updateTable('tokenRotation')
        .set({ switchedAt: earlier(switchedAt), nextAttemptAt: toInstant(new Date()) })
        .execute();
    });
  }

  it('list shows which token is in use, and no secret', async () => {
    const { stdout, status } = await run('token', 'list');
    expect([status, stdout]).toEqual([0, expect.stringContaining('active, in use here')]);
    expect(stdout).not.toContain(token);
    const { stdout: json } = await run('token', 'list', 'own', '--json');
    expect(JSON.parse(json)).toMatchObject({
      tokens: [{ install: 'own', isUsed: true, status: 'active' }],
      unread: [],
    });
  });

  it('rotate replaces the token under a running bridge, of whose requests none is refused', {
    timeout: 120_000,
  }, async () => {
    const [first] = tokens();
    expect((await run('doctor')).stdout).toContain('its token may do more than is needed: jobs:read');
    // Before a first reading of the account no feed is read.
    expect((await run('reconcile')).status).toBe(0);
    await workspace.whileRunning(async () => {
      const beganAt = toInstant(new Date());
      await until('the bridge reads its feed', tokens, ([used]) => (used?.lastUsedAt ?? '') > beganAt);
      const rotating = startCommand('token', 'rotate', '--config', workspace.configFile);
      await until('the new one counts', rotating.stderr, (said) => said.includes('is in use'));
      if (!isThorough) await passDrain();
      const { status, stdout, stderr } = await rotating.ended;
      const [old, made] = tokens();
      expect([status, stderr]).toEqual([0, expect.stringContaining(`${made?.id} is in use`)]);
      expect(stdout).toContain(`own has the token ${made?.id} instead of ${first?.id}: ${needed.join(', ')}`);
      expect(stdout).toContain(`${first?.id} is revoked.`);
      expect([old, made]).toMatchObject([
        { id: first?.id, status: 'revoked', refused: 0 },
        { status: 'active', scopes: needed, refused: 0 },
      ]);
      const usedAt = made?.lastUsedAt ?? '';
      await until('the bridge reads on', tokens, ([, used]) => (used?.lastUsedAt ?? '') > usedAt);
      expect(tokens().map(({ refused }) => refused)).toEqual([0, 0]);
    });
    expect((await run('doctor')).stdout).not.toContain('may do more than is needed');
    expect((await run('audit')).stdout).toContain('token rotate');
  });

  it('rotate changes nothing where the token lacks what is to be kept', async () => {
    const { status, stderr } = await run('token', 'rotate', 'own', '--keep', 'everything:write');
    expect([status, stderr]).toEqual([1, expect.stringContaining('The token lacks everything:write')]);
    expect(tokens()).toHaveLength(1);
  });
});

describe('gangway token --remote', () => {
  beforeEach(() => void vi.stubEnv('GANGWAY_API_TOKEN', consoleTokens.otto.token));
  afterEach(() => void vi.unstubAllEnvs());

  it('has the running instance replace the token, and revoke the old one', async () => {
    const { sandbox, consoleUrl, clock } = await openEmployerJourney(sqlite);
    const remote = (...argv: string[]) => runCommand('token', ...argv, '--json', '--remote', consoleUrl);
    const rotated = JSON.parse((await remote('rotate', '--keep', 'payments:write')).stdout);
    expect(rotated).toMatchObject({ install: 'own', scopes: [...needed, 'payments:write'], isOldRevoked: false });
    clock.advance(60_000);
    const tokens = () => sandbox.snapshot().accounts[0]?.tokens ?? [];
    await until('the old one is revoked', tokens, ([old]) => old?.status === 'revoked');
    const { tokens: listed } = JSON.parse((await remote('list')).stdout);
    expect(listed).toMatchObject([
      { status: 'revoked', isUsed: false },
      { id: rotated.tokenId, isUsed: true },
    ]);
  });
});
