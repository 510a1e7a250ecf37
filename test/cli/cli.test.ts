import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createProgram } from '../../src/cli/cli.ts';
import { nouns } from '../../src/operations/nouns.ts';
import { parseCommand } from '../docs/command-tree.ts';
import { createBridgeWorkspace } from '../support/bridge-workspace.ts';
import { programFile } from '../support/built-program.ts';
import { createFolder } from '../support/folder.ts';
import { runCommand } from '../support/run-command.ts';

const { stdin, stdout, stderr } = process;
const program = await createProgram({ stdin, stdout, stderr, signal: AbortSignal.any([]) });

function pathsOf(command: Command, before: string[] = []): string[][] {
  return command.commands.flatMap((child) => {
    const own = [...before, child.name()];
    return [own, ...pathsOf(child, own)];
  });
}

/** A folder without a configuration. */
function enterEmptyFolder(): string {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('GANGWAY_')) vi.stubEnv(name, undefined);
  }
  const before = process.cwd();
  const folder = createFolder();
  process.chdir(folder);
  onTestFinished(() => {
    process.chdir(before);
    vi.unstubAllEnvs();
  });
  return folder;
}

it('prints its version, and the schema that it migrates to', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const schema = readdirSync('migrations').sort().at(-1)?.replace('.ts', '');
  const said = `gangway ${version} (schema ${schema})\n`;
  for (const words of [['--version'], ['-V'], ['version'], ['--config', 'none.json', '--version']]) {
    expect(await runCommand(...words)).toEqual({ status: 0, stdout: said, stderr: '' });
  }
  const { stdout: json } = await runCommand('version', '--json');
  expect(JSON.parse(json)).toEqual({ version, commit: null, schema });
  // The bundle was built from a commit, unless it was built outside of a checkout.
  const built = execFileSync(process.execPath, [programFile, '-V'], { encoding: 'utf8' });
  expect(built).toMatch(existsSync('.git') ? /^gangway \S+ \(commit [\da-f]{7,}(-dirty)?, schema / : said);
});

it('shows its commands in groups, with valid examples', async () => {
  const { stdout: out } = await runCommand('--help');
  const headings = ['Start here', 'People', 'Hiring', 'Work', 'Marketplace', 'System', 'Examples'];
  expect(out.match(/^\w.*(?=:\n)/gm)).toEqual(['Options', ...headings]);
  expect(Object.keys(nouns).filter((noun) => !out.includes(`\n  ${noun} `))).toEqual([]);
  const examples = [...out.matchAll(/^ {2}\$ gangway (.*?) {2,}/gm)].map(([, line = '']) => line.split(' '));
  expect(examples.length).toBeGreaterThanOrEqual(3);
  for (const argv of examples) await parseCommand(argv);
});

describe('every command', () => {
  it.each([[], ...pathsOf(program)].map((words) => words.join(' ')))(
    '"gangway %s" explains itself on stdout, with status 0',
    async (words) => {
      const {
        status,
        stdout: out,
        stderr: err,
      } = await runCommand(...words.split(' ').filter((word) => word !== ''), '--help');
      expect(status).toBe(0);
      expect(out).toMatch(new RegExp(`^Usage: gangway( ${words})?`));
      expect(out).toMatch(/^ +-h, --help /m);
      // A default is shown as an operator would write it, such as "24h". An empty list is not shown.
      expect(out).not.toMatch(/default:\s+(\d{5}|\[)/);
      expect(err).toBe('');
    },
  );

  it.each([
    [['frobnicate'], "error: unknown command 'frobnicate'"],
    [['members', '--frobnicate'], "error: unknown option '--frobnicate'"],
    [['explain', 'more', 'and', 'more'], 'error: too many arguments'],
    [['members', '--state', 'gone'], '--state must be one of: waiting_email, pending'],
    [['members', '--limit', '0'], '--limit must be at least 1'],
    [['deliveries', 'list', '--state', 'lost'], 'error: --state must be one of: pending, handled'],
    [['deliveries', 'list', '--limit', '1e3'], 'error: --limit must be a number'],
    [['deliveries', 'list', '--limit', '0'], 'error: --limit must be at least 1'],
    [['deliveries', 'show'], "error: missing required argument 'delivery'"],
    [['deliveries', 'show', 'abc'], 'error: <delivery> must be a number'],
    [['deliveries', 'show', '-1'], 'error: <delivery> must be a number'],
    [['deliveries', 'replay'], 'error: one of these is required: <ids>, --failed, --matching'],
    [['deliveries', 'replay', '1', 'x'], 'error: <ids>.1 must be a number'],
    [['--config'], "error: option '--config <file>' argument missing"],
    [['sandbox', '--port', '70000'], 'a whole number from 0 to 65535'],
  ])('%j ends with 64 and an error on stderr', async (argv, said) => {
    const { status, stdout: out, stderr: err } = await runCommand(...argv);
    expect(err).toContain(said);
    expect(err).toContain('(--help shows what there is)');
    expect(status).toBe(64);
    expect(out).toBe('');
  });

  it.each([
    [['frobnicate'], 64, { error: "unknown command 'frobnicate'", code: 'usage' }],
    [['plans', 'aprove'], 64, { error: 'unknown command \'aprove\' (did you mean "approve"?)', code: 'usage' }],
    [['deliveries', 'show'], 64, { error: "missing required argument 'delivery'", code: 'usage' }],
    [['members', '--limit', '0'], 64, { error: '--limit must be at least 1', code: 'usage' }],
    [['doctor', '--tool', 'x'], 64, { error: '--tool and --group are for --rehearse', code: 'usage' }],
    [['members', '--config', 'none.json'], 1, { error: expect.stringContaining('none.json'), code: 'invalid' }],
  ])('%j with --json fails with one line of JSON on stderr', async (argv, status, said) => {
    for (const json of [['--json'], ...(argv[0] === 'members' ? [['--output', 'json'], ['--output=json']] : [])]) {
      const result = await runCommand(...argv, ...json);
      expect({ ...result, stderr: JSON.parse(result.stderr) }).toEqual({ status, stdout: '', stderr: said });
      expect(result.stderr).toMatch(/^\{.*\}\n$/);
    }
  });

  it.each([
    [['stats'], 'unknown command \'stats\' (did you mean "status"?)'],
    [['plans', 'aprove', '1'], 'unknown command \'aprove\' (did you mean "approve"?)'],
    [['usage', 'repot'], 'unknown command \'repot\' (did you mean "report"?)'],
    [['sandbox', 'hre'], 'unknown command \'hre\' (did you mean "hire"?)'],
    [['key', 'sho'], 'unknown command \'sho\' (did you mean "show"?)'],
    [['members', 'zzzzzz'], "unknown command 'zzzzzz'\n"],
    [['members', '--stat', 'active'], "unknown option '--stat'\n(Did you mean --state?)"],
  ])('%j is mistyped, and the nearest is named', async (argv, said) => {
    const { status, stderr: err } = await runCommand(...argv);
    expect({ status, err }).toEqual({ status: 64, err: expect.stringContaining(`error: ${said}`) });
  });

  it.each([[], ['usage']])('%j without a command shows the help', async (...argv) => {
    const { status, stderr: err } = await runCommand(...argv);
    expect(status).toBe(64);
    expect(err).toMatch(/^Usage: gangway/);
  });
});

describe('lists', () => {
  it.each(['plans', 'links', 'installs', 'contracts', 'deliveries', 'notifications'])(
    'of %s are printed without a further word',
    async (word) => {
      const { configFile } = createBridgeWorkspace({ installs: {} });
      await runCommand('migrate', '--config', configFile);
      const list = await runCommand(word, 'list', '--json', '--config', configFile);
      expect(list.status).toBe(0);
      expect(await runCommand(word, '--json', '--config', configFile)).toEqual(list);
      const typo = await runCommand(word, 'lst', '--config', configFile);
      expect(typo).toMatchObject({ status: 64, stdout: '' });
    },
  );
});

describe('the configuration', () => {
  let folder: string;

  beforeEach(() => {
    folder = enterEmptyFolder();
  });

  const commands = [['members'], ['deliveries', 'list'], ['migrate'], ['start']];

  it.each(commands)('is asked for by "%s %s", with what to type', async (...argv) => {
    const { status, stdout: out, stderr: err } = await runCommand(...argv.filter(Boolean));
    expect(status).toBe(1);
    const says = `gangway: there is no configuration: no gangway.config.json in ${realpathSync(folder)}`;
    expect(err).toContain(says);
    expect(err).toMatch(/in its folder, .* --config .* "gangway init".*GANGWAY_TOKEN/);
    expect(out).toBe('');
  });

  it('that does not exist is named in the error', async () => {
    const { status, stderr: err } = await runCommand('members', '--config', 'none.json');
    expect(status).toBe(1);
    expect(err).toContain(path.join(folder, 'none.json'));
  });

  it('may be named before or after the command', async () => {
    const { configFile } = createBridgeWorkspace();
    await runCommand('migrate', '--config', configFile);
    const lines = [
      ['--config', configFile, 'members', '--json'],
      ['members', '--config', configFile, '--json'],
      ['members', '--json', `--config=${configFile}`],
    ];
    for (const line of lines) {
      expect(await runCommand(...line)).toEqual({ status: 0, stdout: '{"items":[],"next":null}\n', stderr: '' });
    }
    const nested = ['deliveries', 'list', '--config', configFile];
    expect(await runCommand(...nested)).toMatchObject({ status: 0 });
  });

  it.each([
    ['after', (file: string) => ['init', '--config', file]],
    ['before', (file: string) => ['--config', file, 'init']],
  ])('is written where --config says, %s the command', async (_, toArgv) => {
    const file = path.join(folder, 'deep', 'mine.json');
    const { status, stdout: out } = await runCommand(...toArgv(file));
    expect(status).toBe(0);
    expect(out).toContain(`Then run: gangway start --config ${file}`);
    expect(existsSync(file)).toBe(true);
    expect(existsSync(path.join(folder, 'gangway.config.json'))).toBe(false);
  });

  it('by variables alone makes no other database if a command runs in another folder', async () => {
    vi.stubEnv('GANGWAY_TOKEN', 'ot_ptk_1');
    const { status, stderr: err } = await runCommand('status');
    expect(status).toBe(1);
    expect(err).toMatch(/^gangway: There is no database .*gangway\.db yet: run this in the folder/);
    expect(readdirSync(folder)).toEqual([]);
    expect(await runCommand('migrate')).toMatchObject({ status: 0 });
    expect(await runCommand('status')).toMatchObject({ status: 0 });
  });

  it('reads variables from --env-file anywhere on the line, unless they are set', async () => {
    const { configFile } = createBridgeWorkspace({
      tools: { list: { adapter: 'roster', path: './roster.json' } },
      database: { url: { env: 'SOME_URL' } },
    });
    const file = path.join(folder, 'variables');
    writeFileSync(file, '# of acme\nSOME_URL="sqlite:./gangway.db"\nGANGWAY_LOG_LEVEL=warn\n');
    const line = ['members', '--config', configFile, '--json'];
    expect(await runCommand(...line)).toMatchObject({ status: 1 });
    await runCommand('migrate', '--config', configFile, '--env-file', file);
    for (const argv of [
      ['--env-file', file, ...line],
      [...line, `--env-file=${file}`],
    ]) {
      expect(await runCommand(...argv)).toMatchObject({ status: 0, stdout: '{"items":[],"next":null}\n' });
    }
    vi.stubEnv('SOME_URL', 'not a database');
    expect(await runCommand(...line, '--env-file', file)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('database.url'),
    });
    const missing = await runCommand(...line, '--env-file', path.join(folder, 'none'));
    expect(missing).toMatchObject({ status: 1, stderr: expect.stringContaining('does not exist') });
  });

  it.each([['status'], ['plans', 'list'], ['members'], ['contracts', 'list'], ['usage', 'held'], ['explain', 'cmu1']])(
    'asks "%s %s" for no secret of a tool',
    async (...words) => {
      const token = { env: 'TOOL_TOKEN' };
      const { configFile } = createBridgeWorkspace({
        tools: { list: { adapter: 'doccano', url: 'http://127.0.0.1:9', token } },
      });
      await runCommand('migrate', '--config', configFile);
      const argv = [...words.filter(Boolean), '--config', configFile];
      const { stderr: err } = await runCommand(...argv);
      expect(err).toBe(words[0] === 'explain' ? 'gangway: No trainer or contract matches "cmu1"\n' : '');
      const { status, stderr: said } = await runCommand('start', '--config', configFile);
      expect({ status, said }).toEqual({ status: 1, said: expect.stringContaining('TOOL_TOKEN is not set') });
    },
  );

  it('is written to the default path', async () => {
    expect(await runCommand('init')).toMatchObject({ status: 0 });
    expect(existsSync(path.join(folder, 'gangway.config.json'))).toBe(true);
  });
});
