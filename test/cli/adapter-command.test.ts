import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { conformanceCases } from '../../src/adapters/conformance.ts';
import { createBridgeWorkspace } from '../support/bridge-workspace.ts';
import { programFile } from '../support/built-program.ts';
import { createFolder } from '../support/folder.ts';
import { trackerFile } from '../support/foreign-adapters.ts';
import { exampleSettings } from '../support/http-tool-settings.ts';
import { openRestTool } from '../support/rest-tool.ts';
import { readRoster } from '../support/roster.ts';
import { runCommand, startCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { refused } from './bridge.ts';

const groups = ['--group', 'signs', '--group', 'lamps'];

interface Printed {
  cases: { name: string; outcome: string; reason?: string }[];
  why?: string;
  leftBehind: number;
}

async function openTool() {
  const rest = await openRestTool();
  const tools = { list: { adapter: 'http', ...exampleSettings(rest) } };
  const { configFile } = createBridgeWorkspace({ tools });
  return { rest, configFile, argv: ['adapter', 'test', '--tool', 'list', '--config', configFile, ...groups] };
}

describe('gangway adapter test', () => {
  it('prints the outcome of each case, and leaves no made-up person in the tool', async () => {
    const { rest, argv } = await openTool();
    const { status, stdout, stderr } = await runCommand(...argv, '--yes');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    for (const { name } of conformanceCases) {
      expect(lines.some((line) => /^(ok|skipped) +/.test(line) && line.endsWith(name))).toBe(true);
    }
    expect(stdout).toMatch(/\n\nThe adapter passes: \d+ ok, \d+ skipped\.\n$/);
    expect(stdout).toMatch(/^skipped {2}gives up a call .*\n +needs a tool that can be made to misbehave$/m);
    expect(rest.requests.some(({ line }) => line.startsWith('POST /v1/projects/signs/'))).toBe(true);
    expect([...rest.members('signs'), ...rest.members('lamps')]).toEqual([]);
  });

  it('adds as many people as --crowd says, for tools with pages', async () => {
    const { rest, argv } = await openTool();
    const few = await runCommand(...argv, '--yes');
    expect(few.stdout).toMatch(
      /^skipped {2}finds every member, on any page.*\n +needs more people .*: --crowd <people>$/m,
    );
    expect(rest.requests.some(({ line }) => line.includes('page=4'))).toBe(false);
    const many = await runCommand(...argv, '--yes', '--crowd', '7');
    expect(many.stdout).toMatch(/^ok {7}finds every member, on any page$/m);
    expect(rest.requests.some(({ line }) => line.includes('page=4'))).toBe(true);
    expect(rest.members('signs')).toEqual([]);
  });

  it('notices with --crowd that a tool hides further pages, and leaves no made-up person in it', async () => {
    const rest = await openRestTool({ isSilent: true, pageSize: 20 });
    const settings = exampleSettings(rest);
    const { find: _, findById: __, findAccount: ___, update: ____, ...others } = settings.requests;
    const requests = { ...others, list: { ...others['list'], pages: 'none' } };
    const tools = { list: { adapter: 'http', ...settings, requests } };
    const { configFile } = createBridgeWorkspace({ tools });
    const argv = ['adapter', 'test', '--tool', 'list', '--config', configFile, ...groups];
    const few = await runCommand(...argv, '--yes');
    expect(few.status).toBe(0);
    const { status, stdout } = await runCommand(...argv, '--yes', '--crowd', '21');
    expect(status).toBe(1);
    expect(stdout).toMatch(/^failed {3}finds every member, on any page$/m);
    expect(rest.members('signs')).toEqual([]);
  });

  it('works with one group, and says which cases it skipped', async () => {
    const { rest, configFile } = await openTool();
    const one = ['--tool', 'list', '--config', configFile, '--group', 'signs', '--yes'];
    const { status, stdout } = await runCommand('adapter', 'test', ...one);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^skipped {2}removes a member from no other group\n +the tool has one group$/m);
    expect(rest.members('signs')).toEqual([]);
  });

  it('only says what it would do without --yes', async () => {
    const { rest, argv } = await openTool();
    const { status, stdout, stderr } = await runCommand(...argv, '--email-domain', 'Lab.example');
    expect({ status, stdout }).toEqual({ status: 64, stdout: '' });
    expect(stderr).toMatch(
      /this would add people named gangway-canary-\w+-…@lab\.example to the groups "signs" and "lamps"/,
    );
    expect(rest.requests).toEqual([]);
  });

  it('fails with status 1 if a case fails, and removes the made-up people', async () => {
    const { rest, argv } = await openTool();
    rest.faults.begin('remove', { does: 'answers', status: 403 });
    const blocked = runCommand(...argv, '--yes', '--json');
    const requests = () => rest.requests.length;
    await until('it has asked often', requests, (count) => count > 60);
    rest.faults.end();
    const { status, stdout, stderr } = await blocked;
    const { cases, why, leftBehind } = JSON.parse(stdout) as Printed;
    expect(status).toBe(1);
    expect(JSON.parse(stderr)).toEqual({ error: why, code: 'failed' });
    expect(why).toMatch(/^\d+ of \d+ cases failed$/);
    expect(cases.find(({ outcome }) => outcome === 'failed')?.reason).toMatch(/answered 403/);
    expect(stdout).not.toContain(rest.token);
    expect(leftBehind).toBe(0);
    expect([...rest.members('signs'), ...rest.members('lamps')]).toEqual([]);
  });

  it('stops if the check of the tool fails, because no other case could succeed', async () => {
    const { rest, argv } = await openTool();
    rest.faults.begin('check', { does: 'answers', status: 401 });
    const { status, stdout, stderr } = await runCommand(...argv, '--yes');
    expect(status).toBe(1);
    expect(stdout.match(/^(ok|failed)/gm)).toEqual(['ok', 'failed']);
    expect(stderr).toBe('gangway: 1 of 2 cases failed; the others need the one that failed\n');
  });

  it('names the people that it could not remove', async () => {
    const { rest, argv } = await openTool();
    rest.faults.begin('remove', { does: 'swallows' });
    const left = /people named gangway-canary-\w+-… may be left in the tool/;
    expect(await runCommand(...argv, '--yes')).toMatchObject(refused(left));
  });

  it('stops between two cases when it is aborted', async () => {
    const { rest, argv } = await openTool();
    const running = startCommand(...argv, '--yes');
    const members = () => rest.members('signs');
    await until('it has begun', members, ({ length }) => length > 0);
    running.stop();
    const { status, stderr } = await running.ended;
    expect(status).toBe(1);
    const [, count] = /stopped after (\d+) cases/.exec(stderr) ?? [];
    expect(Number(count)).toBeLessThan(conformanceCases.length / 2);
    expect([...rest.members('signs'), ...rest.members('lamps')]).toEqual([]);
  });

  it('tests an adapter in a file, with settings from another file', async () => {
    const rest = await openRestTool();
    const settings = path.join(createFolder(), 'tracker.json');
    writeFileSync(settings, JSON.stringify({ url: rest.url, token: { env: 'TRACKER_TOKEN' } }));
    const argv = ['adapter', 'test', trackerFile, '--settings', settings, ...groups, '--yes'];
    expect(await runCommand(...argv)).toMatchObject(refused('token: the variable TRACKER_TOKEN is not set'));

    vi.stubEnv('TRACKER_TOKEN', rest.token);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { status, stdout, stderr } = await runCommand(...argv, '--json');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const { cases } = JSON.parse(stdout) as Printed;
    expect(cases.map(({ name }) => name)).toEqual(conformanceCases.map(({ name }) => name));
  });

  it('tests a roster too', async () => {
    const { configFile, rosterFile } = createBridgeWorkspace();
    const argv = ['adapter', 'test', '--tool', 'list', '--config', configFile, ...groups, '--yes'];
    expect((await runCommand(...argv)).status).toBe(0);
    expect(readRoster(rosterFile)).toEqual({ signs: [], lamps: [] });
  });

  it.each([
    [['--tool', 'list'], 'name two groups'],
    [['--tool', 'list', '--group', 'signs', '--group', 'signs'], 'name two groups'],
    [['--tool', 'list', ...groups, '--group', 'x'], 'name two groups'],
    [groups, 'name one: a file (and'],
    [['./x.ts', '--tool', 'list', ...groups], 'name one: a file (and'],
    [['--tool', 'list', ...groups, '--email-domain', 'a b'], 'a domain such as example.com'],
  ])('%j is used wrongly', async (argv, said) => {
    expect(await runCommand('adapter', 'test', ...argv, '--yes')).toMatchObject(refused(said, 64));
  });

  it('names the configured tools', async () => {
    const { argv } = await openTool();
    const asked = await runCommand(...argv, '--tool', 'other', '--yes');
    expect(asked).toMatchObject(refused('there is no tool "other" in the configuration; there is: list'));
  });
});

describe('gangway adapter new', () => {
  let folder: string;
  let file: string;

  /** A folder in which the package is installed. */
  beforeEach(() => {
    folder = createFolder();
    file = path.join(folder, 'my-tool.ts');
    const installed = path.join(folder, 'node_modules', 'gangway');
    mkdirSync(installed, { recursive: true });
    symlinkSync(path.resolve('package.json'), path.join(installed, 'package.json'));
    symlinkSync(path.dirname(programFile), path.join(installed, 'dist'));
    writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
  });

  function run(script: string, ...args: string[]) {
    // Node runs the tests of another way than by itself where it is a test's child.
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
    return spawnSync(process.execPath, [script, ...args], { cwd: folder, encoding: 'utf8', env });
  }

  const runTest = () => run('--test', '--test-reporter=tap', 'my-tool.test.ts');

  it('writes an adapter that passes every case of the suite', async () => {
    const { status, stdout } = await runCommand('adapter', 'new', file);
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining(`node --test ${folder}`) });
    const passed = runTest();
    expect(passed.stdout).toMatch(/^# fail 0$/m);
    expect(passed.status).toBe(0);
    for (const { name } of conformanceCases) expect(passed.stdout).toContain(`- ${name}`);
  });

  it('writes the same from the bundle', async () => {
    await runCommand('adapter', 'new', file);
    const [adapter, test] = ['my-tool.ts', 'my-tool.test.ts'].map((name) =>
      readFileSync(path.join(folder, name), 'utf8'),
    );
    const other = createFolder();
    expect(run(programFile, 'adapter', 'new', path.join(other, 'my-tool.ts')).status).toBe(0);
    expect(readFileSync(path.join(other, 'my-tool.ts'), 'utf8')).toBe(adapter);
    expect(readFileSync(path.join(other, 'my-tool.test.ts'), 'utf8')).toBe(test);
    expect(adapter).toContain("from 'gangway/kit'");
    expect(adapter).not.toMatch(/'\.\.\//);
  });

  it('writes a test that fails if the adapter breaks its contract', async () => {
    await runCommand('adapter', 'new', file);
    const adapter = readFileSync(file, 'utf8');
    writeFileSync(file, adapter.replace("method: 'DELETE'", "method: 'GET'"));
    const { status, stdout } = runTest();
    expect(status).toBe(1);
    expect(stdout).toMatch(/^not ok \d+ - does not find a removed member/m);
  });

  it('writes files that compile with the types of the package', async () => {
    await runCommand('adapter', 'new', file);
    const options = {
      ...{ noEmit: true, strict: true, target: 'es2024', lib: ['es2024', 'esnext.array'], module: 'nodenext' },
      ...{ allowImportingTsExtensions: true, types: ['node'], typeRoots: [path.resolve('node_modules/@types')] },
      paths: { 'gangway/*': [path.resolve('src/adapters/*.ts')] },
    };
    const settings = { compilerOptions: options, files: ['my-tool.ts', 'my-tool.test.ts'] };
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(settings));
    const compile = () => run(path.resolve('node_modules/typescript/bin/tsc'), '-p', folder);
    expect(compile()).toMatchObject({ status: 0, stdout: '' });
    writeFileSync(file, readFileSync(file, 'utf8').replace('removeMember', 'removesMember'));
    expect(compile().stdout).toContain('removeMember');
  });

  it('replaces no file', async () => {
    writeFileSync(file, 'mine');
    const { status, stderr } = await runCommand('adapter', 'new', file);
    expect({ status, stderr }).toEqual({ status: 1, stderr: `gangway: ${file} exists; name another file\n` });
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(existsSync(path.join(folder, 'my-tool.test.ts'))).toBe(false);
  });

  it.each(['tool.js', '.ts', 'folder/'])('refuses %s, which is not a TypeScript file', async (name) => {
    expect(await runCommand('adapter', 'new', name)).toMatchObject(refused('<file> must end with .ts', 64));
  });
});
