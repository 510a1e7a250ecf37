import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { openFront } from '../support/front.ts';
import { readRoster } from '../support/roster.ts';
import { createStdin, startAt } from '../support/run-command.ts';
import { ownAccountScopes } from '../support/token-world.ts';
import { refused, useBridge } from './bridge.ts';

const publicUrl = 'http://127.0.0.1:9';
const receiver = { host: '127.0.0.1', port: 0, drain: '0s', publicUrl };

describe('gangway connect --employer', { timeout: 30_000 }, () => {
  let sandbox: Sandbox;
  let account: { accountId: string; token: string };
  let jobId: string;
  let marketplace: { baseUrl: string; employerBaseUrl: string };

  const workspace = useBridge(async () => {
    sandbox = createSandbox();
    const { baseUrl, employerBaseUrl } = await sandbox.start();
    marketplace = { baseUrl, employerBaseUrl };
    onTestFinished(() => sandbox.stop());
    use(sandbox.createAccount({ scopes: ownAccountScopes }));
    return { marketplace, installs: {} };
  });
  const { run } = workspace;

  function use(made: typeof account): void {
    account = made;
    jobId = sandbox.createJob({ accountId: made.accountId }).id;
  }

  function tokenFile(token = account.token): string {
    const file = path.join(workspace.folder, `token-${token.slice(-6)}`);
    writeFileSync(file, `${token}\n`);
    return file;
  }

  const connectAs = async (install: string, ...argv: string[]) =>
    await run('connect', install, '--employer', '--token-file', tokenFile(), ...argv);
  const connect = async (...argv: string[]) => await connectAs('own', ...argv);

  async function said(...argv: string[]) {
    const { status, stdout, stderr } = await run(...argv, '--json');
    return { ...JSON.parse(stdout), status, stderr };
  }

  const failure = (says: string) => expect.objectContaining({ status: 'failure', says: expect.stringContaining(says) });

  async function ask<T>(method: string, at: string, body?: object, token = account.token): Promise<T> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const given = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${marketplace.employerBaseUrl}${at}`, { method, headers, ...given });
    return (await response.json()) as T;
  }

  const webhooks = async () => (await ask<{ webhooks: { url: string }[] }>('GET', '/webhooks')).webhooks;
  const installs = async () => (await said('installs', 'list')).installs;

  it("names the setting of the employers' API if it cannot be reached", async () => {
    const { baseUrl } = marketplace;
    // No server listens there.
    workspace.changeConfig({ marketplace: { baseUrl, employerBaseUrl: 'http://127.0.0.1:9/api/public/v1' } });
    const says = /\. Check marketplace\.employerBaseUrl, and that this machine can reach it$/m;
    expect(await connect('--job', `${jobId}=street-signs`)).toMatchObject(refused(says));
  });

  it('goes from a token and a job to people in the tool without showing the token', async () => {
    const { id: lamps } = sandbox.createJob({ accountId: account.accountId });
    const [ada, ben] = [jobId, lamps].map((id) => sandbox.hire({ jobId: id }).trainers[0]?.opentrainUserId);
    const connected = await connect('--job', `${jobId}=street-signs`, '--job', `${lamps}=street=lamps`);
    expect(connected).toMatchObject({ status: 0 });
    expect(readRoster(workspace.rosterFile)).toEqual({ 'street-signs': [ada], 'street=lamps': [ben] });
    expect(connected.stderr).not.toContain('more scopes than Gangway needs');
    expect(connected.stdout + connected.stderr).not.toContain(account.token);
    expect(await installs()).toMatchObject([{ install: 'own', livesIn: 'database', tool: 'list' }]);
  });

  it('can be repeated, and adds a job', async () => {
    await connect('--job', `${jobId}=street-signs`);
    const again = await said('connect', 'own', '--job', `${jobId}=street-signs`, '--job', `${jobId}=street-lamps`);
    expect(again).toMatchObject({ status: 0, links: 2, grant: account.accountId, endpoint: null });
  });

  it('keeps its jobs if it is removed and connected again with the same name', async () => {
    await connect('--job', `${jobId}=street-signs`);
    const trainers = sandbox.hire({ jobId }).trainers.map(({ opentrainUserId }) => opentrainUserId);
    await run('reconcile');
    expect(await run('installs', 'remove', 'own', '--accept-orphans')).toMatchObject({ status: 0 });
    expect(await connect()).toMatchObject({ status: 0, stderr: expect.stringContaining('Linked projects: 1') });
    expect(readRoster(workspace.rosterFile)).toEqual({ 'street-signs': trainers });
  });

  it('has no jobs left to run once it is removed, and reads its budgets again once it is connected again', async () => {
    await connect('--job', `${jobId}=street-signs`);
    const budget = { install: 'own', contractId: 'c1', isWatched: true };
    const job = { kind: 'budget', key: 'own/c1', install: 'own', dueAt: '2026-01-01T00:00:00.000Z' };
    await workspace.withStorage(async ({ database: { kysely } }) => {
      await kysely.insertInto('budget').values(budget).execute();
      await kysely.insertInto('job').values(job).execute();
      await run('installs', 'remove', 'own', '--accept-orphans');
      const jobs = kysely.selectFrom('job').select('key').where('install', '=', 'own');
      expect(await jobs.execute()).toEqual([]);
      expect(await kysely.selectFrom('budget').select('isWatched').execute()).toEqual([{ isWatched: false }]);
    });
  });

  it('asks for a personal token, and does not show what is typed', async () => {
    const stdin = createStdin(account.token);
    const command = startAt(stdin, 'connect', 'own', '--employer', '--config', workspace.configFile);
    const { status, stdout, stderr } = await command.ended;
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining('Personal token of own: \n') });
    expect(stdout + stderr).not.toContain(account.token);
  });

  it('says before it stores anything what the token may do beyond need, and how to get a narrower one', async () => {
    use(sandbox.createAccount());
    const elsewhere = sandbox.createJob({ accountId: sandbox.createAccount().accountId }).id;
    const elsewhereAsked = await connect('--job', `${elsewhere}=street-signs`);
    for (const { stderr } of [elsewhereAsked, await connect()]) {
      expect(stderr).toContain('payments:write (only to hire, to pay, and to end contracts)');
      expect(stderr).toContain('instructions:write (not needed)');
      for (const scope of ownAccountScopes) expect(stderr).not.toContain(`${scope} (`);
      expect(stderr).toContain(
        `Unless you hire with it, run gangway token rotate own for a token with ${ownAccountScopes.join(', ')}`,
      );
    }
    expect([elsewhereAsked.status, (await connect()).status]).toEqual([1, 0]);
  });

  it('names each missing scope and what does not work without it, and stores nothing', async () => {
    use(sandbox.createAccount({ scopes: ['jobs:read', 'messages:read'] }));
    const { status, stderr } = await connect();
    expect(status).toBe(1);
    expect(stderr).toContain('lacks the scope payments:read: Gangway cannot see who is hired');
    expect(stderr).toContain('lacks the scope participant_work_email:read: no trainer has a work email');
    expect(stderr).toContain(`Make a token with ${ownAccountScopes.join(', ')}`);
    expect(await installs()).toEqual([]);
  });

  it('goes on without the scope for webhooks, and says what that means', async () => {
    use(sandbox.createAccount({ scopes: ownAccountScopes.slice(0, 3) }));
    const stderr = expect.stringContaining('lacks the scope webhooks:manage');
    expect(await connect()).toMatchObject({ status: 0, stderr });
  });

  it.each([
    ['a personal token', () => [], () => account.token, /personal token .*with --employer/],
    ['a platform token', () => ['--employer'], () => sandbox.createInstall().token, /without --employer/],
  ])('does not take %s for the other kind, and says what to do', async (_, options, token, message) => {
    const asked = await run('connect', 'own', ...options(), '--token-file', tokenFile(token()));
    expect(asked).toMatchObject(refused(message));
    expect(await installs()).toEqual([]);
  });

  it.each<[string, () => string, RegExp]>([
    [
      "another account's",
      () => sandbox.createJob({ accountId: sandbox.createAccount().accountId }).id,
      /the job job_\w+: answered 403: The job is another account's\. Nothing was stored/,
    ],
    ['none', () => 'job_gone', /the job job_gone: answered 404: There is no such job\. Nothing was stored/],
  ])('refuses a job that is %s beside one that is its own, and stores nothing', async (_, other, message) => {
    const asked = await connect('--job', `${jobId}=street-signs`, '--job', `${other()}=street-lamps`);
    expect(asked).toMatchObject(refused(message));
    expect(await installs()).toEqual([]);
    expect((await connect('--job', `${other()}=street-signs`)).stderr).toMatch(message);
  });

  it.each<[string, string[], number, RegExp]>([
    ['without a project', ['--employer', '--job', 'job_1'], 64, /"job_1": write the id of a job and the project/],
    ['for a pattern', ['--employer', '--job', 'job_1=street-*'], 64, /write the id of a job and the project/],
    [
      'of a customer',
      ['--job', 'job_1=street-signs'],
      1,
      /Jobs can be named only for your own account, with --employer/,
    ],
    [
      'outside the wall',
      ['--employer', '--job', 'job_1=signs', '--projects', 'lamps'],
      1,
      /signs is not one of the projects of own/,
    ],
    ['that is two projects', ['--employer', '--job', 'job_1=a/../b'], 1, /outside every wall/],
  ])('refuses a job %s', async (_, argv, status, message) => {
    const asked = await run('connect', 'own', '--token-file', tokenFile(), ...argv);
    expect(asked).toMatchObject(refused(message, status));
    await run('migrate');
    expect(await installs()).toEqual([]);
  });

  it('accepts another token of the same account, and one of another account only with the option', async () => {
    const hired = sandbox.hire({ jobId }).trainers[0]?.opentrainUserId;
    await connect('--job', `${jobId}=street-signs`);
    const { token } = await ask<{ token: string }>('POST', '/tokens', { scopes: ownAccountScopes });
    const renewed = await run('connect', 'own', '--token-file', tokenFile(token));
    expect(renewed).toMatchObject({ status: 0, stderr: expect.not.stringContaining('another customer') });
    use(sandbox.createAccount({ scopes: ownAccountScopes }));
    expect(await connect()).toMatchObject(refused('of another customer'));
    // The job is the other account's, and its people stay until its link is taken away.
    const accepted = await connect('--job', `${jobId}=street-lamps`, '--accept-other-customer');
    expect(accepted.stderr).toMatch(/another account's.*\n?.*gangway links remove lnk_\S+ --install own/);
    expect(readRoster(workspace.rosterFile)).toEqual({ 'street-signs': [hired] });
    const action = expect.stringMatching(/gangway links remove lnk_\S+ --install own$/);
    expect((await said('doctor')).checks).toContainEqual(expect.objectContaining({ action }));
  });

  it('lets two installs share an account, each with some of its jobs', async () => {
    const other = sandbox.createJob({ accountId: account.accountId }).id;
    await connect('--job', `${jobId}=street-signs`, '--projects', 'street-signs');
    const second = await connectAs('night', '--job', `${other}=street-lamps`, '--projects', 'street-lamps');
    expect(second).toMatchObject({ status: 0 });
    const trainers = [jobId, other].map((id) => sandbox.hire({ jobId: id }).trainers[0]?.opentrainUserId);
    await run('reconcile');
    expect(readRoster(workspace.rosterFile)).toEqual({ 'street-signs': [trainers[0]], 'street-lamps': [trainers[1]] });
  });

  it('does not turn a platform into an account, or the other way round', async () => {
    await run('connect', 'acme', '--token-file', tokenFile(sandbox.createInstall().token));
    const asked = await connectAs('acme', '--projects', 'a-*');
    expect(asked).toMatchObject(refused('acme is the platform of a customer'));
  });

  describe.each<[what: string, details: object, says: string]>([
    [
      'that nobody has claimed',
      { reason: 'account_claim_required', claimUrl: 'https://app.example/claim/7' },
      'claimed first, at https://app.example/claim/7',
    ],
    ['whose API is off', { featureKey: 'public_api' }, 'the feature public_api is off for the account'],
  ])('an account %s', (_, details, says) => {
    it('is not stored, keeps its people, and leads to a message about what a person must do first', async () => {
      const front = await openFront(marketplace.employerBaseUrl);
      workspace.changeConfig({ marketplace: { ...marketplace, employerBaseUrl: front.baseUrl } });
      const forbidden = { status: 403, body: { error: 'No', code: 'FORBIDDEN', details } };
      for (const path of ['/auth/me', '/contracts']) {
        front.meddle((asked) => (asked.path === path ? forbidden : undefined));
        expect(await connect('--job', `${jobId}=street-signs`)).toMatchObject(refused(says));
        expect(await installs()).toEqual([]);
      }

      const [ada] = sandbox.hire({ jobId }).trainers;
      front.meddle();
      expect(await connect('--job', `${jobId}=street-signs`)).toMatchObject({ status: 0 });
      front.meddle(() => forbidden);
      expect(await run('reconcile')).toMatchObject(refused(says));
      expect(readRoster(workspace.rosterFile)).toEqual({ 'street-signs': [ada?.opentrainUserId] });
      expect((await said('doctor')).checks).toContainEqual(failure(says));
    });
  });

  describe('that can be reached', () => {
    beforeEach(() => workspace.changeConfig({ receiver }));

    it("registers one webhook for all events of the token's scopes, even if it is repeated", async () => {
      const first = await said('connect', 'own', '--employer', '--token-file', tokenFile());
      expect(first).toMatchObject({ endpoint: { how: 'created' } });
      expect(await said('connect', 'own')).toMatchObject({ endpoint: { how: 'kept' } });
      const eventTypes = expect.arrayContaining(['contract.created', 'approval.confirmed', 'message.received']);
      expect(await webhooks()).toMatchObject([{ url: `${publicUrl}/webhooks/own`, status: 'ACTIVE', eventTypes }]);
      expect(JSON.stringify(await webhooks())).not.toContain('proposal');
    });

    it('registers it for the events of a token with more scopes', async () => {
      use(sandbox.createAccount());
      await connect();
      const eventTypes = expect.arrayContaining(['proposal.received', 'proposal.status_changed', 'message.received']);
      expect(await webhooks()).toMatchObject([{ eventTypes }]);
    });

    it('is connected even if webhooks are off for the account, and says so', async () => {
      use(sandbox.createAccount({ scopes: ownAccountScopes, featuresOff: ['public_api_webhooks'] }));
      const stderr = expect.stringContaining('the feature public_api_webhooks is off for the account');
      expect(await connect('--job', `${jobId}=street-signs`)).toMatchObject({ status: 0, stderr });
      expect(await installs()).toMatchObject([{ install: 'own' }]);
      expect((await said('doctor')).checks).toContainEqual(failure('public_api_webhooks is off'));
    });

    it('lists the webhooks if there may be no more, and deletes none', async () => {
      const url = 'https://hooks.example.com/secret/path';
      for (let count = 0; count < 10; count += 1) {
        await ask('POST', '/webhooks', { url, eventTypes: ['contract.created'] });
      }
      for (const move of [[], ['--move']]) {
        const asked = await connect('--job', `${jobId}=street-signs`, ...move);
        const full =
          /answered 409: .* Existing endpoints: (wh_\w+ to hooks\.example\.com(, )?){10}\. Delete an endpoint/;
        expect(asked).toMatchObject(refused(full));
        expect(asked.stderr).not.toContain('secret/path');
      }
      expect(await webhooks()).toHaveLength(10);
      await ask('DELETE', `/webhooks/${((await webhooks())[0] as { id?: string } | undefined)?.id}`);
      expect(await said('connect', 'own')).toMatchObject({ status: 0, endpoint: { how: 'created' } });
    });

    it('moves no webhook of another program, even the only one', async () => {
      const url = 'https://hooks.example.com/';
      await ask('POST', '/webhooks', { url, eventTypes: ['contract.created'] });
      expect(await connect('--move')).toMatchObject({ status: 0 });
      expect(await webhooks()).toMatchObject([{ url }, { url: `${publicUrl}/webhooks/own` }]);
    });

    it('registers the webhook of an account in the configuration', async () => {
      const own = { source: 'employer', token: account.token, tool: 'list', jobs: { [jobId]: 'street-signs' } };
      workspace.changeConfig({ installs: { own } });
      expect(await said('connect', 'own')).toMatchObject({ status: 0, links: 1, endpoint: { how: 'created' } });
      expect(await said('connect', 'own', '--employer')).toMatchObject({ endpoint: { how: 'kept' } });
      expect(await webhooks()).toMatchObject([{ url: `${publicUrl}/webhooks/own`, status: 'ACTIVE' }]);
      const changed = await run('connect', 'own', '--job', `${jobId}=street-lamps`);
      expect(changed).toMatchObject(refused('own is in the configuration'));
    });
  });
});
