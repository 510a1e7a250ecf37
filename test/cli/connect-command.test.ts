import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { openWorld } from '../sandbox/sandbox-harness.ts';
import { createFolder } from '../support/folder.ts';
import { readRoster } from '../support/roster.ts';
import { createStdin, runCommand, startAt } from '../support/run-command.ts';
import { refused, useBridge } from './bridge.ts';

const projects = ['street-signs', 'street-lamps'];

describe('gangway connect', { timeout: 30_000 }, () => {
  let sandbox: Sandbox;
  let customer: { installId: string; token: string };
  let jobId: string;
  let baseUrl: string;

  const workspace = useBridge(async () => {
    const world = await openWorld();
    customer = world;
    ({ sandbox, jobId, baseUrl } = world);
    return { marketplace: { baseUrl }, installs: {} };
  });
  const { run } = workspace;

  function tokenFile(token = customer.token): string {
    const file = path.join(workspace.folder, `token-${token.slice(-6)}`);
    writeFileSync(file, `${token}\n`);
    return file;
  }

  const connect = async (...argv: string[]) => await run('connect', 'acme', '--token-file', tokenFile(), ...argv);
  const roster = () => readRoster(workspace.rosterFile);

  async function said(...argv: string[]) {
    const { status, stdout, stderr } = await run(...argv, '--json');
    return { status, stderr, ...JSON.parse(stdout) };
  }

  async function linkAndHire() {
    for (const project of projects) await run('links', 'add', project, '--job', jobId);
    const { trainers } = sandbox.hire({ jobId });
    return trainers.map(({ opentrainUserId }) => opentrainUserId);
  }

  it('goes from a token to people in the tool without showing the token', async () => {
    const connected = await connect();
    expect(connected).toMatchObject({ status: 0 });
    const trainers = await linkAndHire();
    const again = await said('connect', 'acme');
    expect(again).toMatchObject({ status: 0, grant: customer.installId, outcome: 'applied' });
    expect(roster()).toEqual({ 'street-signs': trainers, 'street-lamps': trainers });
    const written = connected.stdout + connected.stderr + JSON.stringify(again);
    expect(written).not.toContain(customer.token);
    const stored = readFileSync(path.join(workspace.folder, 'gangway.db'));
    expect(stored.includes(customer.token)).toBe(false);
  });

  it('warns about a link without a job, for which nobody is hired', async () => {
    await connect();
    const warned = await run('links', 'add', 'street-signs');
    expect(warned).toMatchObject({ status: 0, stderr: expect.stringContaining('Warning: the link has no job') });
    expect(await run('links', 'add', 'street-lamps', '--job', jobId)).toMatchObject({ status: 0, stderr: '' });
  });

  it('needs only variables', async () => {
    const before = process.cwd();
    process.chdir(createFolder());
    onTestFinished(() => {
      process.chdir(before);
      vi.unstubAllEnvs();
    });
    vi.stubEnv('GANGWAY_MARKETPLACE_URL', baseUrl);
    vi.stubEnv('GANGWAY_TOOL_PATH', 'roster.json');
    vi.stubEnv('GANGWAY_CONNECT_TOKEN', customer.token);
    expect(await runCommand('connect', 'acme')).toMatchObject({ status: 0 });
    await runCommand('links', 'add', 'street-signs', '--job', jobId);
    const { trainers } = sandbox.hire({ jobId });
    expect(await runCommand('reconcile')).toMatchObject({ status: 0 });
    expect(readRoster(path.resolve('roster.json'))).toEqual({
      'street-signs': trainers.map(({ opentrainUserId }) => opentrainUserId),
    });
  });

  it('registers one webhook endpoint, even if it is repeated', async () => {
    const receiver = { host: '127.0.0.1', port: 0, drain: '0s', publicUrl: 'http://127.0.0.1:9' };
    workspace.open({ receiver, marketplace: { baseUrl }, installs: {} });
    const [first, again] = [await connect('--json'), await connect('--json')];
    const endpointOf = ({ stdout }: { stdout: string }) =>
      (JSON.parse(stdout) as { endpoint: { endpointId: string; how: string } }).endpoint;
    expect(endpointOf(first)).toMatchObject({ how: 'created' });
    expect(endpointOf(again)).toEqual({ ...endpointOf(first), how: 'kept' });
    const { endpoints } = await said('endpoint', 'status');
    expect(endpoints).toMatchObject([{ url: 'http://127.0.0.1:9/webhooks/acme', status: 'ACTIVE' }]);
  });

  it('asks for the token, and does not show what is typed', async () => {
    const stdin = createStdin(customer.token);
    const command = startAt(stdin, 'connect', 'acme', '--config', workspace.configFile);
    const { status, stdout, stderr } = await command.ended;
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining('Platform token of acme: \n') });
    expect(stdout + stderr).not.toContain(customer.token);
  });

  it('can be repeated with the stored token', async () => {
    await connect();
    expect(await said('connect', 'acme')).toMatchObject({ status: 0, outcome: 'clean' });
    const { installs } = await said('installs', 'list');
    expect(installs).toMatchObject([{ install: 'acme', livesIn: 'database', tool: 'list', projects: ['*'] }]);
  });

  it.each([
    ['no token', () => [], /There is no token for acme/],
    [
      'a token that is refused',
      () => ['--token-file', tokenFile('wrong')],
      /Ask the customer for a new token, then run gangway connect acme/,
    ],
    ['a tool there is none of', () => ['--token-file', tokenFile(), '--tool', 'lits'], /no tool "lits"/],
  ])('says what to do about %s, and stores nothing', async (_, options, message) => {
    expect(await run('connect', 'acme', ...options())).toMatchObject(refused(message));
    expect(await said('installs', 'list')).toMatchObject({ installs: [] });
  });

  it('refuses a token that may not read who is hired, naming the scope', async () => {
    customer = sandbox.createInstall({ scopes: ['contracts:read', 'project-links:read'] });
    expect(await connect()).toMatchObject(refused('lacks the scope participants:read'));
  });

  it('says that work addresses are not shared, and goes on', async () => {
    customer = sandbox.createInstall({ piiConsent: false });
    const said = expect.stringContaining('does not share work emails');
    expect(await connect()).toMatchObject({ status: 0, stderr: said });
  });

  it('requires --projects if another customer uses the tool', async () => {
    await connect();
    const other = tokenFile(sandbox.createInstall().token);
    expect(await run('connect', 'globex', '--token-file', other)).toMatchObject(refused('--projects'));
    const taken = await run('connect', 'globex', '--token-file', other, '--projects', 'globex-*');
    expect(taken.status).toBe(0);
  });

  it('refuses the token of another customer, and of a connected one', async () => {
    await connect();
    const mixedUp = await run('connect', 'globex', '--token-file', tokenFile(), '--projects', 'g-*');
    expect(mixedUp).toMatchObject(refused('The token belongs to acme, which is already connected'));
    const { token } = sandbox.createInstall();
    const stranger = await run('connect', 'acme', '--token-file', tokenFile(token));
    expect(stranger).toMatchObject(refused('of another customer'));
    const meant = ['--token-file', tokenFile(token), '--accept-other-customer'];
    expect(await run('connect', 'acme', ...meant)).toMatchObject({ status: 0 });
    // From now on the first customer is the unknown one.
    expect((await connect()).stderr).toContain('of another customer');
  });

  it('orphans nobody without --accept-orphans', async () => {
    await connect();
    const trainers = await linkAndHire();
    await run('reconcile');
    expect(await connect('--projects', 'street-signs')).toMatchObject(refused('1 membership ('));
    expect(await said('installs')).toMatchObject({ installs: [{ install: 'acme', projects: ['*'] }] });
    expect(await connect('--projects', 'street-signs', '--accept-orphans')).toMatchObject({ status: 0 });
    expect(roster()).toEqual({ 'street-signs': trainers, 'street-lamps': trainers });
  });

  describe('a customer who has connected again', () => {
    let trainers: string[];

    beforeEach(async () => {
      await connect();
      trainers = await linkAndHire();
      await run('reconcile');
      customer = { ...customer, ...sandbox.reconnect(customer.installId) };
    });

    const allTrainers = () => ({ 'street-signs': trainers, 'street-lamps': trainers });

    it('links their projects again once the operator agrees, and keeps all trainers', async () => {
      const again = await said('connect', 'acme', '--token-file', tokenFile(), '--yes');
      expect(again).toMatchObject({ status: 0, outcome: 'clean', grant: customer.installId, links: 2, missing: [] });
      expect(again).toMatchObject({ relinked: expect.arrayContaining(projects) });
      expect(roster()).toEqual(allTrainers());
      expect(await said('explain', trainers[0] ?? '')).toMatchObject({ status: 0 });
    });

    it('names the projects that the operator has not agreed to link', async () => {
      const again = await said('connect', 'acme', '--token-file', tokenFile());
      expect(again).toMatchObject({ relinked: [], links: 0 });
      expect(again).toHaveProperty('missing.length', 2);
      const missing = projects.map((project) => ({ project, why: 'the operator declined' }));
      expect(again).toMatchObject({ missing: expect.arrayContaining(missing) });
      expect(roster()).toEqual(allTrainers());
    });
  });
});
