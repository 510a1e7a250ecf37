import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { rehearse } from '../../src/cli/doctor-command.ts';
import { inTransaction } from '../../src/db/database.ts';
import { compatibility, migrations } from '../../src/db/migrate.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { writeSetting } from '../../src/db/setting-store.ts';
import { saveConnectedInstall } from '../../src/installs/install-store.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { version } from '../../src/lib/version.ts';
import { examineUpgrade } from '../../src/operations/check-upgrade.ts';
import { openWorld, type World } from '../sandbox/sandbox-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { exampleSettings } from '../support/http-tool-settings.ts';
import { createSharedLinkTool } from '../support/inviting-tool.ts';
import { openRestTool, type RestTool } from '../support/rest-tool.ts';
import { readRoster } from '../support/roster.ts';
import { refused, useBridge } from './bridge.ts';

interface Shown {
  name: string;
  status: 'ok' | 'warning' | 'failure';
  says: string;
  action: string | null;
}

const hostile = 'la\u202emps\u001b[31m\n';

/** It is recent, because an old event gives no access. */
function hired(contract = 'cmc1'): string {
  const createdAt = new Date(Date.now() - 60_000).toISOString();
  return fullEvent({ type: 'contract.started', createdAt, contract });
}

/** Secrets are in files of their own, so that doctor does not warn about them. */
function installsWith(changes: object = {}): { installs: { acme: object } } {
  const webhookSecrets = [{ file: './webhook-secret' }];
  const acme = { token: { file: './token' }, webhookSecrets, tool: 'list', projects: ['*'] };
  return { installs: { acme: { ...acme, ...changes } } };
}

describe('gangway doctor', { timeout: 20_000 }, () => {
  let world: World;

  const workspace = useBridge(async () => {
    world = await openWorld();
    return { ...installsWith(), marketplace: { baseUrl: world.baseUrl } };
  });
  const { changeConfig, runOk } = workspace;

  beforeEach(() => {
    writeInFolder('token', world.token);
    writeInFolder('webhook-secret', 'whsec_c2VjcmV0LW9mLWFjbWU');
    return () => vi.unstubAllEnvs();
  });

  const run = (...argv: string[]) => workspace.run('doctor', ...argv);

  async function examine(...argv: string[]): Promise<{ status: number; checks: Shown[] }> {
    const { status, stdout, stderr } = await run('--json', ...argv);
    const { checks } = JSON.parse(stdout) as { checks: Shown[] };
    const failed = checks.filter((check) => check.status === 'failure').length;
    expect(status).toBe(failed > 0 ? 1 : 0);
    const error = `${failed} of ${checks.length} checks failed`;
    expect(stderr).toBe(failed > 0 ? `${JSON.stringify({ error, code: 'failed' })}\n` : '');
    return { status, checks };
  }

  /** The checks that are not ok, as `name: status`. */
  /** Of a contract that the marketplace does not know on a linked job, the budget cannot be read. */
  async function hiredThere(): Promise<string> {
    await world.link('street-signs');
    const { contractId } = world.sandbox.hire({ jobId: world.jobId, trainers: [{ opentrainUserId: 'cmu1' }] });
    return hired(contractId);
  }

  async function findTrouble(...argv: string[]): Promise<Shown[]> {
    const { checks } = await examine(...argv);
    // Nothing runs beside these tests. One test of its own checks that this is reported.
    return checks.filter(({ status, name }) => status !== 'ok' && name !== 'nothing_runs');
  }

  function writeInFolder(name: string, text: string): void {
    writeFileSync(path.join(workspace.folder, name), text);
  }

  /** Configures it as the tool `web`, beside the roster. */
  function addTool(rest: RestTool): void {
    writeInFolder('tool-token', rest.token);
    const web = { adapter: 'http', ...exampleSettings(rest), token: { file: './tool-token' } };
    changeConfig({ tools: { list: { adapter: 'roster', path: './roster.json' }, web } });
  }

  /** Every table of the database, as a digest. */
  async function digestTables(): Promise<string> {
    const database = openDatabase(`sqlite:${path.join(workspace.folder, 'gangway.db')}`);
    const digest = createHash('sha256');
    const { rows } = await sql<{ name: string }>`
      select name from sqlite_master where type = 'table' order by name`.execute(database.kysely);
    for (const { name } of rows) {
      const table = await sql`select * from ${sql.table(name)}`.execute(database.kysely);
      digest.update(JSON.stringify([name, table.rows]));
    }
    await database.close();
    return digest.digest('hex');
  }

  const listFolder = () => readdirSync(workspace.folder).sort();

  it("recognises another customer's token, and stores nothing", async () => {
    expect((await workspace.run('reconcile')).status).toBe(0);
    writeInFolder('token', world.sandbox.createInstall().token);
    const before = await digestTables();
    expect(await findTrouble()).toContainEqual({
      name: 'install acme',
      status: 'failure',
      says: expect.stringContaining('The token of acme is of another customer'),
      action: 'Fix that. Until then Gangway reads nothing for this install, and does nothing by it',
    });
    expect(await digestTables()).toBe(before);
    expect(await workspace.run('reconcile')).toMatchObject(refused('another customer'));
  });

  it('finds everything in order in a new folder except the database, and creates nothing', async () => {
    const before = listFolder();
    const { status, stdout, stderr } = await run();
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toBe(
      ' ok   configuration: 1 tool; 1 install\n' +
        ' ok   tool list: Reachable, settings valid\n' +
        ' ok   install acme: Token valid, all scopes granted, work emails shared\n' +
        ' ok   webhooks: No webhooks without receiver.publicUrl; installs are read on the schedule "0 0 29 2 *"\n' +
        " ok   marketplace clock: This machine's clock is 0 s ahead of that of the marketplace\n" +
        ' ok   marketplace API: The marketplace has every endpoint Gangway uses\n' +
        `warn  database: There is none at ${path.join(workspace.folder, 'gangway.db')} yet: the first start makes it\n` +
        '      → Start once: gangway start\n',
    );
    expect(listFolder()).toEqual(before);
    writeInFolder('gangway.db', '');
    expect(await findTrouble()).toMatchObject([{ name: 'database', status: 'warning' }]);
    expect(listFolder()).toEqual([...before, 'gangway.db'].sort());
    expect(readFileSync(path.join(workspace.folder, 'gangway.db'), 'utf8')).toBe('');
  });

  it('says that nothing runs, since when, and what to do', async () => {
    const findRunning = async () =>
      (await examine()).checks.filter(({ name }) => /^(nothing_runs|instances)$/.test(name));
    await workspace.withStorage(async () => undefined);
    const nothing = { name: 'nothing_runs', status: 'warning', action: expect.stringMatching(/^Run gangway start\./) };
    expect(await findRunning()).toEqual([
      { ...nothing, says: expect.stringContaining('has not run on this database') },
    ]);
    await workspace.receive();
    expect(await findRunning()).toEqual([{ ...nothing, says: expect.stringContaining('is not running') }]);
    await workspace.whileRunning(async () => {
      expect(await findRunning()).toMatchObject([
        { status: 'ok', says: expect.stringMatching(/^Running: \S+\/\d+ \(\d/) },
      ]);
    });
  });

  it('finds no trouble, and changes nothing', async () => {
    await workspace.receive(await hiredThere());
    await workspace.pretendRunning();
    const [files, tables, roster] = [listFolder(), await digestTables(), workspace.rosterFile];
    const members = readFileSync(roster, 'utf8');
    const { status, checks } = await examine();
    expect(status).toBe(0);
    expect(checks.map((check) => `${check.name}: ${check.status}`)).toEqual([
      'configuration: ok',
      'tool list: ok',
      'install acme: ok',
      'webhooks: ok',
      'marketplace clock: ok',
      'marketplace API: ok',
      'database: ok',
      'key: ok',
      'clock: ok',
      'instances: ok',
      'orphans: ok',
      'walls: ok',
      'troubles: ok',
    ]);
    expect(listFolder()).toEqual(files);
    expect(await digestTables()).toBe(tables);
    expect(readFileSync(roster, 'utf8')).toBe(members);
  });

  it('warns about secrets that are written out', async () => {
    workspace.open({});
    const trouble = await findTrouble();
    const said = trouble.filter(({ name }) => name !== 'install acme' && name !== 'marketplace API');
    expect(said).toMatchObject([
      { name: 'configuration (2)', says: expect.stringContaining('installs.acme.token') },
      { name: 'configuration (3)', says: expect.stringContaining('webhookSecrets') },
      { name: 'database' },
    ]);
  });

  it('fails for an install whose token is refused, without showing the token', async () => {
    world.sandbox.revokeToken(world.installId);
    const { status, stdout, stderr } = await run();
    expect(status).toBe(1);
    expect(stdout).toMatch(
      /^FAIL {2}install acme: Could not read the install: answered 401.*\n +→ Ask the customer for a new token/m,
    );
    expect(stdout + stderr).not.toContain(world.token);
  });

  it('fails for an invalid configuration, and checks nothing else', async () => {
    changeConfig({ unheard: true });
    expect((await examine()).checks).toEqual([
      {
        name: 'configuration',
        status: 'failure',
        action: 'Fix it, then run this again',
        says: expect.stringContaining('unheard'),
      },
    ]);
    rmSync(workspace.configFile);
    expect(await findTrouble()).toMatchObject([{ name: 'configuration', status: 'failure' }]);
  });

  it('fails for a broken tool, and checks the others', async () => {
    const rest = await openRestTool();
    rest.faults.begin('check', { does: 'answers', status: 403 });
    addTool(rest);
    const { status, stdout, stderr } = await run();
    expect(status).toBe(1);
    expect(stdout).toMatch(/^FAIL {2}tool web: .*403.*\n +→ Fix tools\.web in the configuration, or the tool$/m);
    expect(stdout).toContain(' ok   tool list: Reachable, settings valid\n');
    expect(stdout).toContain('warn  database: ');
    expect(stderr).toMatch(/^gangway: 1 of \d checks failed\n$/);
    expect(stdout + stderr).not.toContain(rest.token);
  });

  it('warns if customers share a tool whose accounts could be changed', async () => {
    await workspace.receive(hired());
    const rest = await openRestTool();
    addTool(rest);
    const { acme } = installsWith({ tool: 'web', projects: ['a-*'] }).installs;
    changeConfig({ installs: { acme, globex: { ...acme, projects: ['b-*'] } } });
    const about = async () => (await findTrouble()).filter(({ says }) => says.includes('share web'));
    expect(await about()).toEqual([
      {
        name: 'accounts in web',
        status: 'warning',
        action: expect.stringMatching(/managedDomains/),
        says: 'acme, globex share web, and marketplace.managedDomains is not set, so Gangway ends, renames and activates no account in it',
      },
    ]);
    const marketplace = { baseUrl: world.baseUrl, managedDomains: ['opentrain.work'] };
    changeConfig({ marketplace });
    expect(await about()).toEqual([]);
  });

  it("fails for a key that is not the database's, and checks nothing else", async () => {
    await workspace.receive(hired());
    // With the right key it would say that no trainer is led to any more.
    changeConfig({ installs: {} });
    vi.stubEnv('GANGWAY_SECRET_KEY', randomBytes(32).toString('base64'));
    const tables = await digestTables();
    expect((await examine()).checks).toMatchObject([
      { name: 'configuration', status: 'ok' },
      { name: 'database', status: 'ok' },
      {
        name: 'key',
        status: 'failure',
        says: expect.stringContaining('another secret key'),
        action: 'Do that, then run this again',
      },
    ]);
    expect(await digestTables()).toBe(tables);
  });

  it('lists no orphans if the connected installs cannot be read', async () => {
    await workspace.receive(hired());
    await workspace.withStorage(async (ctx) => {
      const connectedAt = new Date().toISOString();
      const globex = { install: 'globex', source: 'platform', tool: 'list', projects: ['*'] } as const;
      const granted = { token: 'ot_ptk_globex', grantId: 'ins_1', organizationId: null, connectedAt };
      await saveConnectedInstall(ctx, { ...globex, ...granted });
      const token = ctx.box.seal(Buffer.from('ot_ptk_globex'), 'elsewhere');
      await inTransaction(ctx.database, (tx) => tx.updateTable('connectedInstall').set({ token }).execute());
    });
    changeConfig({ installs: {} });
    expect((await examine()).checks).toMatchObject([
      { name: 'configuration' },
      { name: 'database' },
      { name: 'key', status: 'ok' },
      { name: 'installs', status: 'failure', says: expect.stringContaining('wrong key') },
    ]);
  });

  it.each(['doctor', 'status', 'members', 'start', 'key show', 'key rotate'])(
    '%s fails where the key file is gone, and makes no other',
    async (words) => {
      await workspace.receive(hired());
      const files = readdirSync(workspace.folder).filter((name) => name !== 'gangway.db.key');
      rmSync(path.join(workspace.folder, 'gangway.db.key'));
      const { status, stdout, stderr } = await workspace.run(...words.split(' '));
      expect(status).toBe(1);
      expect(stdout + stderr).toMatch(/gangway\.db\.key is missing.* from its backup/);
      expect(readdirSync(workspace.folder)).toEqual(files);
    },
  );

  it('says how to connect the first customer, as status does', async () => {
    const action = 'Run gangway connect <install>';
    changeConfig({ installs: {} });
    expect(await findTrouble()).toMatchObject([{ name: 'database', action }]);
    await runOk('migrate');
    expect((await workspace.run('status')).stdout).toContain(`→ ${action}`);
    expect(await findTrouble()).toMatchObject([{ name: 'no_customer', action }]);
  });

  it('warns about pending migrations, and runs none', async () => {
    const database = openDatabase(`sqlite:${path.join(workspace.folder, 'gangway.db')}`);
    await sql`create table something (id integer)`.execute(database.kysely);
    await database.close();
    expect(await findTrouble()).toEqual([
      {
        name: 'database',
        status: 'warning',
        says: expect.stringContaining('Migrations that have not run yet: 0001-initial'),
        action: 'Run them with "gangway migrate", or start',
      },
    ]);
    expect(await findTrouble()).toHaveLength(1);
    expect(listFolder()).not.toContain('gangway.db.key');
    await runOk('migrate');
    expect(await findTrouble()).toEqual([]);
  });

  it('says with --upgrade what the first start of this version changes, and asks nobody else', async () => {
    const upgrade = (...argv: string[]) => examine('--upgrade', ...argv).then(({ checks }) => checks.slice(1));
    expect(await upgrade()).toMatchObject([{ says: 'There is no database yet' }]);
    await workspace.whileRunning(async () => {
      expect(await upgrade()).toMatchObject([
        { says: `From ${version} to ${version}` },
        { says: 'They stay as they are' },
        { says: `${version} can use the database again` },
        { status: 'warning', action: 'Stop Gangway before you start this version' },
      ]);
    });
    await workspace.withStorage(async ({ database }) => {
      const later = { ...migrations, '0002-more': '', '0003-other': '' };
      const checks = await examineUpgrade(database, systemClock, { all: later, needed: compatibility + 1 });
      expect(checks.map(({ says }) => says)).toEqual([
        `From ${version} to ${version}`,
        'The first start runs 0002-more, 0003-other',
        `${version} cannot use the database after that`,
      ]);
    });
  });

  it('fails for an invalid database, and for one of a newer version', async () => {
    const file = path.join(workspace.folder, 'gangway.db');
    writeFileSync(file, 'no database '.repeat(500));
    expect(await findTrouble()).toMatchObject([
      { name: 'database', status: 'failure', says: expect.stringContaining('not a database') },
    ]);
    rmSync(file);
    await workspace.withStorage(({ database }) =>
      inTransaction(database, (tx) => writeSetting(tx, 'compatibility', '999')),
    );
    expect(await findTrouble()).toMatchObject([
      { name: 'database', status: 'failure', says: expect.stringContaining('newer version') },
    ]);
  });

  it('fails if the configuration would orphan people, and orphans nobody', async () => {
    await workspace.receive(hired());
    changeConfig({ installs: { globex: installsWith().installs.acme } });
    const tables = await digestTables();
    expect(await findTrouble()).toEqual([
      {
        name: 'orphans',
        status: 'failure',
        says: 'The configuration no longer covers 1 member of acme',
        action: expect.stringMatching(/^Put the name .+ back, or start with --accept-orphans$/),
      },
    ]);
    expect(await digestTables()).toBe(tables);
  });

  it('warns about links outside the wall, and prints their names safely', async () => {
    await workspace.receive(hired());
    await workspace.withStorage(async ({ database: { kysely } }) => {
      await kysely.updateTable('link').set({ externalProjectId: hostile }).execute();
    });
    changeConfig(installsWith({ projects: ['street-*'] }));
    const { stdout } = await run();
    expect(stdout).toMatch(/^warn {2}link_outside acme: .+ Project .* is outside every wall: .+\n +→ \S/m);
    expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u);
  });

  it('warns about what waits for an operator', async () => {
    await workspace.receive(await hiredThere(), 'no event');
    expect(await findTrouble()).toEqual([
      {
        name: 'delivery_unprocessable',
        status: 'warning',
        says: 'Gangway could not understand 1 webhook.',
        action: expect.stringMatching(/^Run gangway deliveries list --state unprocessable/),
      },
    ]);
  });

  it('--rehearse adds and removes a made-up person', async () => {
    const { checks } = await examine('--rehearse', '--tool', 'list', '--group', 'signs');
    expect(checks).toContainEqual({
      name: 'rehearsal in list',
      status: 'ok',
      action: null,
      says: 'A made-up person was in signs, and is out again',
    });
    expect(readRoster(workspace.rosterFile)).toEqual({ signs: [] });
    expect(listFolder()).not.toContain('gangway.db');
  });

  it('--rehearse uses --email-domain', async () => {
    const rest = await openRestTool();
    addTool(rest);
    const argv = ['--rehearse', '--tool', 'web', '--group', 'signs', '--email-domain', 'Lab.example'];
    expect(await findTrouble(...argv)).toMatchObject([{ name: 'database' }]);
    expect(JSON.stringify(rest.requests)).toMatch(/gangway-canary-\w+-1(@|%40)lab\.example/);
    expect(rest.members('signs')).toEqual([]);
  });

  it('names the person that a rehearsal could not remove', async () => {
    const rest = await openRestTool();
    rest.faults.begin('remove', { does: 'swallows' });
    addTool(rest);
    const [failed] = await findTrouble('--rehearse', '--tool', 'web', '--group', 'signs');
    expect(failed).toMatchObject({
      name: 'rehearsal in web',
      status: 'failure',
      says: 'The made-up person is still in after the removal',
      action: expect.stringMatching(/^Remove gangway-canary-\w+-1 from signs by hand/),
    });
  });

  it('--rehearse needs a configured tool', async () => {
    const [failed] = await findTrouble('--rehearse', '--tool', 'other', '--group', 'signs');
    expect(failed).toEqual({
      name: 'rehearsal',
      status: 'failure',
      says: 'There is no tool "other"; there is: list',
      action: 'Name one of these with --tool',
    });
  });

  it.each([
    [['--rehearse'], '--rehearse needs --tool <name> and --group <id>'],
    [['--rehearse', '--tool', 'list'], '--rehearse needs --tool <name> and --group <id>'],
    [['--tool', 'list', '--group', 'signs'], '--tool and --group are for --rehearse'],
    [['--email-domain', 'a b'], 'a domain such as example.com'],
  ])('%j is used wrongly', async (argv, said) => {
    const { status, stdout, stderr } = await run(...argv);
    expect({ status, stdout }).toEqual({ status: 64, stdout: '' });
    expect(stderr).toContain(said);
  });
});

const { signal } = new AbortController();
const rehearsal = { tool: 'studio', group: 'signs', emailDomain: 'example.com' };

it('does not look for a member who would only get an invitation', async () => {
  const tool = createSharedLinkTool();
  const check = await rehearse({ ...rehearsal, adapter: tool.adapter }, signal);
  expect(check).toMatchObject({
    status: 'ok',
    says: expect.stringContaining('would be invited to signs'),
  });
  expect(tool.resets()).toBe(0);
});
