import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { toInstant } from '../../src/lib/clock.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { sqlite } from '../support/databases.ts';
import { openEmployerJourney } from '../support/employer-journey.ts';
import { runCommand } from '../support/run-command.ts';
import { ownAccountScopes } from '../support/token-world.ts';
import { until } from '../support/until.ts';
import { consoleTokens } from '../support/visitor.ts';
import { refused, useBridge } from './bridge.ts';

describe('gangway token', () => {
  let sandbox: Sandbox;
  let token: string;

  const workspace = useBridge(async () => {
    sandbox = createSandbox({ timeScale: 0 });
    const { baseUrl, employerBaseUrl } = await sandbox.start();
    onTestFinished(() => sandbox.stop());
    const account = sandbox.createAccount();
    token = account.token;
    const { id: jobId } = sandbox.createJob({ accountId: account.accountId });
    sandbox.hire({ jobId });
    const installs = { own: { source: 'employer', token, tool: 'list', jobs: { [jobId]: 'signs' } } };
    return { marketplace: { baseUrl, employerBaseUrl }, installs, feed: { every: '1s' } };
  });
  const { run, runJson, runOk } = workspace;
  const tokens = () => sandbox.snapshot().accounts[0]?.tokens ?? [];

  it('list shows which token is in use, and no secret', async () => {
    const shown = await runOk('token', 'list');
    expect(shown).toContain('active, in use here');
    expect(shown).not.toContain(token);
    const tokens = [{ install: 'own', isUsed: true, status: 'active' }];
    expect(await runJson('token', 'list', 'own')).toMatchObject({ tokens, unread: [] });
  });

  it('rotate replaces the token of a running instance', { timeout: 60_000 }, async () => {
    const [first] = tokens();
    expect((await run('doctor')).stdout).toContain('The token has more scopes than Gangway needs: jobs:read');
    // Before a first reading of the account no feed is read.
    expect((await run('reconcile')).status).toBe(0);
    await workspace.whileRunning(async () => {
      const beganAt = toInstant(new Date());
      await until('the bridge reads its feed', tokens, ([used]) => (used?.lastUsedAt ?? '') > beganAt);
      const { status, stdout } = await run('token', 'rotate');
      const [old, made] = tokens();
      expect(status).toBe(0);
      expect(stdout).toContain(`own uses the token ${made?.id}: ${ownAccountScopes.join(', ')}; it never expires.`);
      expect(stdout).toContain(`The old token ${first?.id} is revoked.`);
      expect([old, made]).toMatchObject([
        { id: first?.id, status: 'revoked' },
        { status: 'active', scopes: ownAccountScopes },
      ]);
      const usedAt = made?.lastUsedAt ?? '';
      await until('the bridge reads on', tokens, ([, used]) => (used?.lastUsedAt ?? '') > usedAt);
    });
    expect((await run('doctor')).stdout).not.toContain('more scopes than Gangway needs');
    expect((await run('audit')).stdout).toContain('token rotate');
  });

  it('rotate changes nothing if the token lacks a scope', async () => {
    const asked = await run('token', 'rotate', 'own', '--keep', 'everything:write');
    expect(asked).toMatchObject(refused('The token lacks everything:write'));
    expect(tokens()).toHaveLength(1);
  });
});

describe('gangway token --remote', () => {
  beforeEach(() => void vi.stubEnv('GANGWAY_API_TOKEN', consoleTokens.otto.token));
  afterEach(() => void vi.unstubAllEnvs());

  it('replaces the token at the running instance, and revokes the old one', async () => {
    const { sandbox, consoleUrl } = await openEmployerJourney(sqlite);
    const remote = (...argv: string[]) => runCommand('token', ...argv, '--json', '--remote', consoleUrl);
    const rotated = JSON.parse((await remote('rotate', '--keep', 'payments:write')).stdout);
    expect(rotated).toMatchObject({ install: 'own', scopes: [...ownAccountScopes, 'payments:write'], expiresAt: null });
    expect(sandbox.snapshot().accounts[0]?.tokens.map(({ status }) => status)).toEqual(['revoked', 'active']);
    const { tokens: listed } = JSON.parse((await remote('list')).stdout);
    expect(listed).toMatchObject([
      { id: rotated.replacedId, status: 'revoked', isUsed: false },
      { id: rotated.tokenId, isUsed: true },
    ]);
  });
});
