import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { openWorld } from '../sandbox/sandbox-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { answering, openHook } from '../support/hook.ts';
import { secret as channelSecret } from '../support/notices.ts';
import { readRoster } from '../support/roster.ts';
import { startCommand, startWatched } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { useBridge } from './bridge.ts';

/** Nothing is delivered in these tests. The bridge learns everything by asking. */
describe('gangway reconcile', { timeout: 30_000 }, () => {
  let sandbox: Sandbox;
  let jobId: string;
  let linkId: string;

  const workspace = useBridge(async () => {
    const world = await openWorld();
    ({ sandbox, jobId } = world);
    linkId = await world.link('street-signs');
    const { baseUrl, token } = world;
    const install = { token, webhookSecrets: ['whsec_c2VjcmV0LW9mLWFjbWU'], tool: 'list', projects: ['street-signs'] };
    const globex = { ...install, token: 'wrong', projects: ['others'] };
    return { marketplace: { baseUrl }, installs: { acme: install, globex } };
  });

  const roster = () => Object.values(readRoster(workspace.rosterFile)).flat();
  const hire = () => {
    const { contractId, trainers } = sandbox.hire({ jobId });
    return { contractId, trainerId: trainers[0]?.opentrainUserId ?? '' };
  };

  async function run(...argv: string[]) {
    const { status, stdout, stderr } = await workspace.run(...argv, '--json');
    return { status, stderr, said: JSON.parse(stdout) as { installs: object[] } };
  }

  /** The token of the install that the marketplace knows. */
  async function reconcile(...argv: string[]) {
    const { status, said } = await run('reconcile', ...argv, '--install', 'acme');
    return { status, ...said.installs[0] };
  }

  const preview = () => reconcile('preview');

  const nothing = { install: 'acme', plan: null, added: 0, removed: 0, held: 0, failed: 0, failure: null };

  async function holdAll() {
    const hired = [hire(), hire(), hire()];
    await reconcile();
    for (const { contractId } of hired) sandbox.endContract(contractId);
    return { hired, outcome: await reconcile() };
  }

  async function dump(): Promise<string> {
    let text = '';
    await workspace.withStorage(async ({ database: { kysely } }) => {
      const tables = await kysely.introspection.getTables();
      for (const { name } of tables) {
        const rows = await kysely
          .selectFrom(name as 'setting')
          .selectAll()
          .execute();
        text += `${name} ${JSON.stringify(rows)}\n`;
      }
    });
    return text;
  }

  it('catches up with what was never delivered, and says so', async () => {
    const { trainerId, contractId } = hire();
    expect(await reconcile()).toEqual({ ...nothing, status: 0, outcome: 'applied', added: 1 });
    expect(roster()).toEqual([trainerId]);
    expect(await reconcile()).toEqual({ ...nothing, status: 0, outcome: 'clean' });
    sandbox.endContract(contractId);
    expect(await reconcile()).toEqual({ ...nothing, status: 0, outcome: 'applied', removed: 1 });
    expect(roster()).toEqual([]);
  });

  it('records every run', async () => {
    hire();
    await reconcile();
    await reconcile();
    await workspace.withStorage(async ({ database: { kysely } }) => {
      expect(await kysely.selectFrom('run').selectAll().orderBy('id').execute()).toMatchObject([
        { trigger: 'command', outcome: 'applied', contracts: 1, added: 1 },
        { trigger: 'command', outcome: 'clean', contracts: 1, added: 0 },
      ]);
      expect(await kysely.selectFrom('namedLock').selectAll().execute()).toEqual([]);
    });
  });

  it('runs beside a running instance', async () => {
    const { trainerId, contractId } = hire();
    await workspace.whileRunning(async () => {
      expect(await reconcile()).toMatchObject({ status: 0, outcome: 'applied', added: 1 });
      expect(roster()).toEqual([trainerId]);
      sandbox.endContract(contractId);
      expect(await reconcile()).toMatchObject({ status: 0, outcome: 'applied', removed: 1 });
      expect(await Promise.all([reconcile(), reconcile()])).toMatchObject([{ outcome: 'clean' }, { outcome: 'clean' }]);
    });
    expect(roster()).toEqual([]);
  });

  it('holds removals beyond the brake until they are approved', async () => {
    const { outcome, hired } = await holdAll();
    expect(outcome).toEqual({ ...nothing, status: 3, outcome: 'held', plan: 1, held: 3 });
    expect(await reconcile()).toEqual(outcome);
    expect(await preview()).toMatchObject({ status: 3, outcome: 'held', held: 3 });
    expect(roster().sort()).toEqual(hired.map(({ trainerId }) => trainerId).sort());
    const { status, said } = await run('plans', 'approve', '1');
    expect([status, said]).toMatchObject([0, { decided: 3, removed: 3, failed: 0, left: 0 }]);
    expect(roster()).toEqual([]);
    expect(await reconcile()).toEqual({ ...nothing, status: 0, outcome: 'clean' });
  });

  it('approves a plan beside a running instance', async () => {
    await holdAll();
    await workspace.whileRunning(async () => {
      expect(await run('plans', 'approve', '1')).toMatchObject({ status: 0, said: { removed: 3 } });
    });
    expect(roster()).toEqual([]);
  });

  it('leaves the notice about what it found to the next running instance', async () => {
    const hook = await openHook('/ops');
    hook.answer = answering(200);
    const channels = { ops: { type: 'webhook', url: hook.url, secret: channelSecret } };
    workspace.changeConfig({ notifications: { channels } });
    const posts = () => hook.posts.map(({ body }) => JSON.parse(body) as object);
    await run('reconcile', '--install', 'globex');
    expect((await run('notifications', 'list')).said).toEqual({ items: [], next: null });
    await workspace.whileRunning(async () => {
      await until('the notice is sent', posts, ({ length }) => length > 0);
    });
    expect(posts()).toMatchObject([{ type: 'alert.marketplace_refuses', data: { about: { install: 'globex' } } }]);
  });

  it('says what it would do with --dry-run, and does nothing', async () => {
    const { contractId } = hire();
    await reconcile();
    sandbox.endContract(contractId);
    const { trainerId } = hire();
    const before = [await dump(), roster()];
    const pending = { ...nothing, status: 2, outcome: 'pending', added: 1, removed: 1 };
    expect(await preview()).toMatchObject(pending);
    const { status, stdout } = await workspace.run('reconcile', 'preview', '--install', 'acme');
    expect(status).toBe(2);
    expect(stdout).toMatch(/^- +acme +list +street-signs +Amara O\. +\S+ +the contract is listed as ended$/m);
    expect(stdout).toMatch(new RegExp(`^\\+ +acme +list +street-signs +${trainerId}$`, 'm'));
    expect([await dump(), roster()]).toEqual(before);
  });

  it('lists removals that wait for a grace period, without counting them', async () => {
    hire();
    await reconcile();
    sandbox.removeLink(linkId);
    const createdAt = new Date().toISOString();
    const project = 'street-signs';
    await workspace.receive(fullEvent({ type: 'project_link.removed', id: '1', link: linkId, project, createdAt }));
    expect(await reconcile()).toEqual({ ...nothing, status: 0, outcome: 'clean' });
    const { status, stdout } = await workspace.run('reconcile', 'preview', '--install', 'acme');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^- +acme .+ the link to the project was removed +not before \S+Z$/m);
    expect(roster()).toHaveLength(1);
  });

  it.each([['unauthenticated'], ['forbidden'], ['serverError'], ['notJson'], ['cutOff']] as const)(
    'fails where the marketplace answers with %s, and removes no trainer',
    async (fault) => {
      const { trainerId, contractId } = hire();
      await reconcile();
      sandbox.endContract(contractId);
      sandbox.setFaults(undefined, { [fault]: 1 });
      expect(await preview()).toMatchObject({ status: 1, outcome: 'failed' });
      expect(await reconcile()).toEqual({ ...nothing, status: 1, outcome: 'failed', failure: expect.any(String) });
      expect(roster()).toEqual([trainerId]);
      sandbox.setFaults(undefined);
      expect(await reconcile()).toMatchObject({ status: 0, removed: 1 });
    },
  );

  it.each([
    ['as JSON where nobody reads along', startCommand, /^\{"level":"warn".*"msg":"An install could not be read"\}$/m],
    [
      'as text at a terminal',
      startWatched,
      /\r\d\d:\d\d:\d\d warn {2}An install could not be read: .*401.* install=globex$/m,
    ],
  ])('logs %s', async (_, start, line) => {
    const { stderr } = await start('reconcile', '--config', workspace.configFile).ended;
    expect(stripVTControlCharacters(stderr)).toMatch(line);
  });

  it('prints the outcome of every install, and fails if one fails', async () => {
    hire();
    const { status, said } = await run('reconcile');
    expect(status).toBe(1);
    expect(said.installs).toMatchObject([
      { install: 'acme', outcome: 'applied' },
      { install: 'globex', outcome: 'failed', failure: expect.stringContaining('401') },
    ]);
    const { stderr } = await workspace.run('reconcile');
    expect(stderr).toMatch(/^gangway: globex: .+401/m);
  });

  it('fails if a tool is too slow', async () => {
    hire();
    mkdirSync(workspace.rosterFile);
    expect(await reconcile('--wait', '1s')).toMatchObject({ status: 1, outcome: 'failed' });
    rmSync(workspace.rosterFile, { recursive: true });
    expect(await reconcile('--wait', '0s')).toMatchObject({ status: 1, outcome: 'failed' });
  });

  it('retries a trainer that the tool has refused', async () => {
    const { trainerId } = hire();
    writeFileSync(workspace.rosterFile, 'no roster');
    expect(await reconcile()).toMatchObject({ status: 1, outcome: 'failed', failed: 1 });
    expect(await preview()).toMatchObject({ status: 1, outcome: 'failed' });
    writeFileSync(workspace.rosterFile, JSON.stringify({ groups: {} }));
    expect(await reconcile()).toMatchObject({ status: 0, outcome: 'applied', added: 1 });
    expect(roster()).toEqual([trainerId]);
  });

  it('executes an approved plan after a silence, and nothing else that is older', async () => {
    await holdAll();
    const { trainerId } = hire();
    expect(await reconcile('--wait', '0s')).toMatchObject({ outcome: 'failed', added: 0 });
    await workspace.withStorage(async ({ database: { kysely } }) => {
      const value = new Date(Date.now() - 2 * 3_600_000).toISOString();
      await kysely.updateTable('setting').set({ value }).where('name', '=', 'last_alive_at').execute();
    });
    const { said } = await run('plans', 'approve', '1', '--without-reading');
    expect(said).toMatchObject({ removed: 3, left: 0 });
    expect(roster()).toEqual([]);
    expect(await reconcile()).toMatchObject({ outcome: 'applied', added: 1 });
    expect(roster()).toEqual([trainerId]);
  });
});
