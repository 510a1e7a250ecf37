import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { takeFreePort } from '../../src/cli/try-command.ts';
import { createBridgeWorkspace } from '../support/bridge-workspace.ts';
import { programFile } from '../support/built-program.ts';
import { createFolder } from '../support/folder.ts';
import { readRoster } from '../support/roster.ts';
import { runCommand, startCommand, startWatched } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { createVisitor } from '../support/visitor.ts';

/** The program as a process of its own, in a folder of its own, with only these variables. */
function launch(argv: string[], { env = {}, cwd = createFolder() } = {}) {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(GANGWAY_|NODE_)/.test(name));
  const child = spawn(process.execPath, [programFile, ...argv], {
    cwd,
    // What one start has compiled serves the next.
    env: { ...Object.fromEntries(inherited), NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said: string[] = [];
  child.stdout.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  const stderr = text(child.stderr);
  const exit = once(child, 'close');
  return {
    child,
    cwd,
    stdout: () => said.join(''),
    async ended() {
      const [status] = (await exit) as [number | null];
      return { status, stdout: said.join(''), stderr: await stderr };
    },
  };
}

describe('gangway start', () => {
  it('runs until it is stopped', async () => {
    const { configFile } = createBridgeWorkspace();
    const command = startCommand('start', '--config', configFile);
    await until('it runs', command.stderr, (log) => log.includes('Gangway is running'));
    const [, receiverUrl] = /"receiverUrl":"([^"]+)"/.exec(command.stderr()) ?? [];
    expect(await (await fetch(`${receiverUrl}/readyz`)).json()).toEqual({ status: 'ok' });
    command.stop();
    const { status, stdout, stderr } = await command.ended;
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    expect(stderr).toContain('Gangway has stopped');
    expect(stderr).not.toMatch(/ot_ptk_acme|whsec_c2V/);
    await expect(fetch(`${receiverUrl}/readyz`)).rejects.toThrow();
  });

  it('prints its addresses with --json', async () => {
    const { configFile } = createBridgeWorkspace();
    const command = startCommand('start', '--json', '--config', configFile);
    await until('it runs', command.stderr, (log) => log.includes('Gangway is running'));
    command.stop();
    const { stdout } = await command.ended;
    const url = expect.stringMatching(/^http:/);
    expect(JSON.parse(stdout)).toEqual({ receiverUrl: url, consoleUrl: url });
  });

  it('tells a person what runs and where, with a link that signs them in once', async () => {
    const publicUrl = 'https://bridge.example.com';
    const { configFile } = createBridgeWorkspace({
      receiver: { host: '0.0.0.0', port: 0, publicUrl, drain: '0s' },
      console: { port: 0, tokens: { admin: { token: 'what-the-admin-signs-in-with', role: 'operator' } } },
    });
    const command = startWatched('start', '--config', configFile);
    await until('it runs', command.stderr, (log) => log.includes('/sign-in/'));
    const said = command.stderr();
    expect(said).toMatch(
      /^Gangway \S+ is running: 1 install, 1 tool \(list\)\. Ctrl-C stops it\.\n {2}webhooks {2}https:\/\/bridge\.example\.com\/webhooks\/<install>\n {2}console {3}http:\/\/127\.0\.0\.1:\d+\/sign-in\/[\w-]{43} {2}\(works once, for 10 minutes\)$/m,
    );
    expect(said).not.toContain('"msg"');
    const [link = ''] = /http:\S+\/sign-in\/\S+/.exec(said) ?? [];
    const { origin, pathname } = new URL(link);
    const visitor = createVisitor(origin);
    const home = await visitor.press(await visitor.visit(pathname), 'Sign in');
    expect(home).toMatchObject({ status: 200, path: '/' });
    expect(home.body).toContain('admin · operator');
    command.stop();
    expect(await command.ended).toMatchObject({ status: 0, stdout: '' });
  });

  it.each([
    [
      'with only viewers, prints no link',
      { tokens: { vera: { token: 'vera-may-see-everything', role: 'viewer' } } },
      /console {3}http:\S+:\d+$/m,
    ],
    ['without tokens, says that the console is off', {}, /console {3}off: add console\.tokens/],
  ])('%s', async (_, settings, says) => {
    const { configFile } = createBridgeWorkspace({ console: { port: 0, ...settings } });
    const command = startWatched('start', '--config', configFile);
    await until('it runs', command.stderr, (log) => says.test(log));
    expect(command.stderr()).toMatch(
      /webhooks {2}http:\/\/127\.0\.0\.1:\d+\/webhooks\/<install> {2}\(Gangway asks the marketplace: /,
    );
    command.stop();
    await command.ended;
  });

  it.each([
    ['to a file', startCommand, {}],
    ['to a terminal as JSON, which something may collect', startWatched, { log: { format: 'json' } }],
  ])('logs no sign-in link %s', async (_, run, changes) => {
    const { configFile } = createBridgeWorkspace({
      receiver: { host: '0.0.0.0', port: 0, drain: '0s' },
      console: { port: 0, tokens: { admin: { token: 'what-the-admin-signs-in-with', role: 'operator' } } },
      ...changes,
    });
    const command = run('start', '--config', configFile);
    await until('it runs', command.stderr, (log) => log.includes('"Gangway is running"'));
    expect(command.stderr()).toMatch(/"receiverUrl":"http:\/\/127\.0\.0\.1:\d+"/);
    command.stop();
    const { stderr } = await command.ended;
    expect(stderr).not.toMatch(/sign-in/);
    for (const line of stderr.trim().split('\n')) expect(() => JSON.parse(line) as unknown).not.toThrow();
  });

  it('closes everything if one of its ports is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const port = await takeFreePort();
    const { configFile } = createBridgeWorkspace({
      receiver: { host: '127.0.0.1', port, drain: '0s' },
      console: { port: (taken.address() as { port: number }).port },
    });
    const { status, stderr } = await runCommand('start', '--config', configFile);
    expect(status).toBe(1);
    expect(stderr).toMatch(/gangway: Could not listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.*Set console\.port to another/);
    const receiver = createServer().listen(port, '127.0.0.1');
    await once(receiver, 'listening');
    receiver.close();
  });

  it('says what to set if the folder of the database cannot be created', async () => {
    const file = path.join(createFolder(), 'file');
    writeFileSync(file, '');
    const { configFile } = createBridgeWorkspace({ database: { url: `sqlite:${path.join(file, 'gangway.db')}` } });
    const { status, stderr } = await runCommand('start', '--config', configFile);
    expect(status).toBe(1);
    expect(stderr).toMatch(/Could not open the database .*gangway\.db: .*Set database\.url to/);
  });

  it('names a tool that it cannot use', async () => {
    const { configFile } = createBridgeWorkspace({ tools: { list: { adapter: 'jira' } } });
    const { status, stderr } = await runCommand('start', '--config', configFile);
    expect(status).toBe(1);
    expect(stderr).toContain('tools.list.adapter: there is no "jira"');
  });
});

describe('gangway auto', () => {
  it('runs the tour without a configuration', async () => {
    const { stdout, stderr, status } = await launch(['auto', '--exit']).ended();
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(stdout).toContain('Gangway, tried out on this machine');
  });

  it.each([
    ['any variable of ours is set', { GANGWAY_LOG_LEVEL: 'warn' }],
    ['this is production', { NODE_ENV: 'production' }],
  ])('does not run the tour if %s, and says what is missing', async (_, env) => {
    const { stdout, stderr, status } = await launch(['auto'], { env }).ended();
    expect(status).toBe(1);
    expect(stderr).toContain('GANGWAY_TOKEN');
    expect(stdout).toBe('');
  });

  it('starts with enough variables', async () => {
    const env = {
      GANGWAY_TOKEN: 'ot_ptk_acme',
      GANGWAY_WEBHOOK_SECRET: 'whsec_acme',
      GANGWAY_RECEIVER_PORT: '0',
      GANGWAY_CONSOLE_PORT: '0',
      GANGWAY_RECEIVER_HOST: '127.0.0.1',
      GANGWAY_RECEIVER_DRAIN: '0s',
    };
    const bridge = launch(['auto'], { env });
    const log: string[] = [];
    bridge.child.stderr.on('data', (chunk: Buffer) => log.push(chunk.toString()));
    const logged = () => log.join('');
    await until('it runs', logged, (said) => said.includes('Gangway is running'));
    bridge.child.kill('SIGTERM');
    expect(await bridge.ended()).toMatchObject({ status: 0, stdout: '' });
  });

  it('starts instead of the tour if there is a file, valid or not', async () => {
    const cwd = createFolder();
    writeFileSync(path.join(cwd, 'gangway.config.json'), '{');
    const [{ status, stdout, stderr }, refused] = await Promise.all([
      launch(['auto'], { cwd }).ended(),
      launch(['auto', '--exit'], { cwd }).ended(),
    ]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain('gangway.config.json');
    expect(refused.stderr).toContain('--exit is for `try`');
  });
});

/** What is printed one after another, and nothing between. */
function inOrder(...parts: RegExp[]): RegExp {
  return new RegExp(parts.map(({ source }) => source).join(''));
}

describe('gangway try', () => {
  it('shows a trainer who gets in and out, and succeeds', async () => {
    const tour = launch(['try', '--exit']);
    const { status, stdout, stderr } = await tour.ended();
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const steps = stdout.slice(stdout.indexOf('1. '));
    expect(steps).toMatch(
      inOrder(
        /^1\. A trainer is hired: contract \S+, Amara O\.\n/,
        / +delivery +contract\.started received, stored and handled\n/,
        / +membership +Amara O\. in street-signs: active\n/,
        / +roster +\[\{"id":"\S+","email":"trainer\.1@opentrain\.work",.*"active"\}\]\n\n/,
        /2\. The contract ends: \S+\n/,
        / +delivery +contract\.ended received, stored and handled\n/,
        / +membership +Amara O\. in street-signs: removed\n/,
        / +roster +\[\]\n\nIt went well: the trainer got in with the contract, and is out again after it\.\n$/,
      ),
    );
    const rosterFile = path.join(tour.cwd, '.gangway', 'try', 'roster.json');
    expect(readRoster(rosterFile)).toEqual({ 'street-signs': [] });
  });

  it('shows an employer the same without a webhook, with an end that a person confirms', async () => {
    const { status, stdout, stderr } = await launch(['try', '--employer', '--exit']).ended();
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('webhook      none');
    const steps = stdout.slice(stdout.indexOf('1. '));
    expect(steps).toMatch(
      inOrder(
        /^1\. You hire a trainer: contract \S+, Amara O\.\n/,
        / +feed +contract\.created received, stored and handled\n/,
        / +membership +Amara O\. in street-signs: active\n/,
        / +roster +\[\{"id":"\S+","email":"trainer\.1@opentrain\.work",.*"active"\}\]\n\n/,
        /2\. You ask for the end of \S+: the approval \S+ waits for a person\n/,
        / +roster +\[\{"id":"\S+",.*"active"\}\]\n\n/,
        /3\. A person confirms it at the marketplace\n/,
        / +feed +approval\.confirmed received, stored and handled\n/,
        / +membership +Amara O\. in street-signs: removed\n/,
        / +roster +\[\]\n\nIt went well: the trainer got in with the contract, and is out again after it\.\n$/,
      ),
    );
  });

  it('runs until it is stopped, and begins with an empty folder the next time', async () => {
    const cwd = createFolder();
    const first = launch(['try'], { cwd });
    await until('the tour is over', first.stdout, (said) => said.includes('Ctrl-C'));
    first.child.kill('SIGINT');
    expect(await first.ended()).toMatchObject({ status: 0, stderr: '' });
    const { status, stdout } = await launch(['try', '--exit', '--json'], { cwd }).ended();
    expect(status).toBe(0);
    const keys = ['marketplaceUrl', 'receiverUrl', 'consoleUrl', 'rosterFile'];
    expect(Object.keys(JSON.parse(stdout) as object)).toEqual(keys);
  });
});
