import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { builtInAdapters } from '../../src/adapters/built-in-adapters.ts';
import { initCommand as createInitCommand } from '../../src/cli/commands/beside-operations.ts';
import { configJsonSchema } from '../../src/config/json-schema.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { createWorkspace } from '../config/workspace.ts';
import { createStdin, startAt, startCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';

/** What the command wrote to stdout. */
async function init(config: string, ...options: string[]): Promise<string> {
  const stdout = new PassThrough();
  const terminal = { stdout, stderr: stdout, stdin: process.stdin, signal: AbortSignal.any([]) };
  const command = createInitCommand(terminal).exitOverride();
  await command.parseAsync(['--config', config, ...options], { from: 'user' });
  stdout.end();
  return text(stdout);
}

const newFile = () => path.join(createWorkspace(), 'gangway.config.json');
const modeOf = (file: string) => statSync(file).mode & 0o777;

describe('gangway init', () => {
  it.each([
    ['--install acme-eu', ['ACME_EU_TOKEN', 'ACME_EU_WEBHOOK_SECRET']],
    ['--install 3m', ['INSTALL_3M_TOKEN', 'INSTALL_3M_WEBHOOK_SECRET']],
    ['--install gangway-console', ['INSTALL_GANGWAY_CONSOLE_TOKEN', 'INSTALL_GANGWAY_CONSOLE_WEBHOOK_SECRET']],
    ['--install acme --tool label-studio', ['ACME_TOKEN', 'ACME_WEBHOOK_SECRET', 'LABEL_STUDIO_TOKEN']],
    ['--install cvat --tool cvat', ['INSTALL_CVAT_TOKEN', 'INSTALL_CVAT_WEBHOOK_SECRET', 'CVAT_TOKEN']],
    ['--install acme --tool doccano', ['ACME_TOKEN', 'ACME_WEBHOOK_SECRET', 'DOCCANO_TOKEN']],
    ['--install acme --tool scim', ['ACME_TOKEN', 'ACME_WEBHOOK_SECRET', 'SCIM_TOKEN']],
    ['--install acme --tool http', ['ACME_TOKEN', 'ACME_WEBHOOK_SECRET', 'HTTP_TOKEN']],
    ['--install acme --tool ./my-tool.ts', ['ACME_TOKEN', 'ACME_WEBHOOK_SECRET']],
  ])('with %s writes a configuration that loads once %j are set', async (options, variables) => {
    const file = newFile();
    const report: unknown = JSON.parse(await init(file, ...options.split(' '), '--json'));
    const schema = path.join(path.dirname(file), 'gangway.schema.json');
    expect(report).toMatchObject({ config: file, schema, variables });

    expect(() => loadConfig({ path: file, env: {} })).toThrow(`${variables[0]} is not set`);
    const env = Object.fromEntries(variables.map((name) => [name, `value-of-${name}`]));
    const { config, warnings } = loadConfig({ path: file, env });
    expect(warnings).toEqual([]);
    const [install] = config.installs.values();
    expect(install?.token).toBe(`value-of-${variables[0]}`);
    expect(config.tools.has(install?.tool ?? '')).toBe(true);
  });

  it.each(builtInAdapters)('with --tool %s writes what starts once its variables are set', async (tool) => {
    const file = newFile();
    const report: unknown = JSON.parse(await init(file, '--tool', tool, '--json'));
    const { variables } = report as { variables: string[] };
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const name of variables) vi.stubEnv(name, 'some-token');
    for (const name of ['RECEIVER', 'CONSOLE']) vi.stubEnv(`GANGWAY_${name}_PORT`, '0');
    vi.stubEnv('GANGWAY_RECEIVER_DRAIN', '0s');
    const started = startCommand('start', '--config', file);
    await until('it runs', started.stderr, (log) => log.includes('Gangway is running'));
    started.stop();
    expect(await started.ended).toMatchObject({ status: 0 });
  });

  it.each([
    ['label-studio', 'delete_user', 'membership', 'locks people out'],
    ['scim', 'deactivate', 'group', 'locks people out'],
    // What a removal does there is up to the requests, which are still to be written.
    ['http', 'membership_only', 'locks_out', 'promises nothing'],
  ])('for %s chooses %s without a terminal, and says so', async (tool, preset, other, means) => {
    const file = newFile();
    const says = await init(file, '--tool', tool);
    expect(says).toMatch(
      new RegExp(
        `A removal in ${tool} ${means}.*\\(offboarding: ${preset}\\)\\. .*default; --offboarding ${other} \\w+`,
      ),
    );
    const settingsOf = () => (JSON.parse(readFileSync(file, 'utf8')) as { tools: Record<string, object> }).tools[tool];
    expect(settingsOf()).toMatchObject({ offboarding: preset });
    const said = await init(file, '--force', '--tool', tool, '--offboarding', other);
    expect(said).not.toContain('default');
    expect(settingsOf()).toMatchObject({ offboarding: other });
    await expect(init(file, '--force', '--tool', tool, '--offboarding', 'x')).rejects.toThrow(
      `--offboarding x: for ${tool} there is: ${preset}, ${other}`,
    );
  });

  it('asks at a terminal what a removal does, and locks people out by default', async () => {
    const file = newFile();
    const argv = ['init', '--config', file, '--employer', '--tool', 'label-studio', '--json'];
    const { stdout, stderr } = await startAt(createStdin('3', '2'), ...argv).ended;
    expect(stderr).toMatch(
      /^What shall a removal do in label-studio\?\n {2}1 {2}delete_user: locks people out.*\n {2}2 {2}membership: does not lock out.*\nWhich\? \[1\] /,
    );
    expect(JSON.parse(stdout)).toMatchObject({ offboarding: 'membership' });
    const again = await startAt(createStdin(''), ...argv, '--force').ended;
    expect(JSON.parse(again.stdout)).toMatchObject({ offboarding: 'delete_user' });
  });

  it.each([
    ['', 'gangway connect <a name for them>', 'gangway connect own'],
    ['2', 'gangway connect own --employer --job <job>=<project>', 'gangway connect <a name'],
  ])('asks at a terminal who hires, and after %j names the command for it', async (typed, named, other) => {
    const file = newFile();
    const { stdout, stderr } = await startAt(createStdin(typed), 'init', '--config', file).ended;
    expect(stderr).toMatch(/^Who hires the trainers\?\n {2}1 {2}your customers: .*\n {2}2 {2}you: /);
    expect(stdout).toContain(named);
    expect(stdout).not.toContain(other);
  });

  it('names both ways to connect without a terminal, and one for --install or --employer', async () => {
    const file = newFile();
    expect(await init(file)).toMatch(/gangway connect <a name.*\n.*gangway connect own --employer/);
    const own = await startAt(createStdin('1'), 'init', '--config', file, '--force', '--employer').ended;
    expect(own.stderr).toBe('');
    expect(own.stdout).toMatch(/^Connect your own account: gangway connect own --employer/m);
    expect(own.stdout).not.toContain('<a name');
    await expect(init(file, '--force', '--employer', '--install', 'acme')).rejects.toThrow(
      '--install is for a customer',
    );
  });

  const local = 'http://127.0.0.1:8799';

  it.each([
    [[], local, `${local}/api/partner/v1`, `${local}/api/public/v1`],
    [['--employer'], `${local}/`, `${local}/api/partner/v1`, `${local}/api/public/v1`],
    [[], 'https://market.example/v1', 'https://market.example/v1', undefined],
    [['--employer'], 'https://market.example/v1', undefined, 'https://market.example/v1'],
  ])('with %j finds the APIs of a marketplace at %s', async (options, url, baseUrl, employerBaseUrl) => {
    const file = newFile();
    await init(file, '--marketplace-url', url, ...options);
    const { marketplace } = JSON.parse(readFileSync(file, 'utf8')) as { marketplace: object };
    expect(marketplace).toEqual({ ...(baseUrl && { baseUrl }), ...(employerBaseUrl && { employerBaseUrl }) });
  });

  it('creates a token for the console that only its owner can read, and keeps an existing one', async () => {
    const folder = createWorkspace();
    const [file, tokenFile] = [path.join(folder, 'gangway.config.json'), path.join(folder, 'gangway.console-token')];
    const said = await init(file);
    expect(modeOf(tokenFile)).toBe(0o600);
    const token = readFileSync(tokenFile, 'utf8').trim();
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(said).toContain('gangway.console-token: the token of "admin" for the console');
    expect(said + readFileSync(file, 'utf8')).not.toContain(token);
    const read = () => loadConfig({ path: file, env: {} }).config.console.tokens;
    expect(read()).toEqual(new Map([['admin', { token, role: 'operator' }]]));
    await init(file, '--force');
    expect(read().get('admin')?.token).toBe(token);
  });

  it('names the adapters, and accepts a file that does not exist yet', async () => {
    const file = newFile();
    await expect(init(file, '--tool', 'labelstudio')).rejects.toThrow(
      'there is no adapter "labelstudio"; there is: cvat, doccano,',
    );
    expect(existsSync(file)).toBe(false);
    expect(await init(file, '--tool', './my-tool.ts')).toContain('Write the adapter ./my-tool.ts');
    // Whether it is an adapter is seen when it is loaded.
    expect(await init(file, '--force', '--tool', 'kysely')).not.toContain('Write the adapter');
  });

  it('writes no install unless it is named', async () => {
    const file = newFile();
    const [publicUrl, marketplaceUrl] = ['http://127.0.0.1:8787', 'http://127.0.0.1:8799/v1'];
    const said = await init(file, '--public-url', publicUrl, '--marketplace-url', marketplaceUrl);
    expect(said).toContain('gangway connect <a name for them>\n');
    expect(said).not.toContain('publicUrl');
    const { config, warnings } = loadConfig({ path: file, env: {} });
    expect(config).toMatchObject({ receiver: { publicUrl }, installs: new Map() });
    expect(config.marketplace.baseUrl).toBe(marketplaceUrl);
    expect(warnings).toEqual([]);
  });

  it.each(['--public-url', '--marketplace-url'])(
    'refuses a %s without a scheme, which start refused',
    async (option) => {
      const file = newFile();
      const refusal = `${option}: write an http(s) URL without credentials, query or fragment`;
      await expect(init(file, option, 'bridge.example.com')).rejects.toThrow(refusal);
      expect(existsSync(file)).toBe(false);
    },
  );

  it('writes a configuration that only its owner can read, and the schema beside it', async () => {
    const folder = path.join(createWorkspace(), 'new');
    await init(path.join(folder, 'g.json'));
    expect(readdirSync(folder).sort()).toEqual(['g.json', 'gangway.console-token', 'gangway.schema.json']);
    expect(modeOf(path.join(folder, 'g.json'))).toBe(0o600);
    const config: unknown = JSON.parse(readFileSync(path.join(folder, 'g.json'), 'utf8'));
    expect(config).toHaveProperty('$schema', './gangway.schema.json');
    const schema: unknown = JSON.parse(readFileSync(path.join(folder, 'gangway.schema.json'), 'utf8'));
    expect(schema).toEqual(configJsonSchema());
  });

  it('says briefly what to do next', async () => {
    const file = path.join(createWorkspace(), 'g.json');
    const lines = (await init(file, '--install', 'acme')).trimEnd().split('\n');
    expect(lines).toEqual([
      `Wrote ${file}, gangway.schema.json, and gangway.console-token: the token of "admin" for the console.`,
      'Set receiver.publicUrl in it to the address where the marketplace reaches this machine; without it, Gangway asks every minute.',
      "Set the variable ACME_TOKEN: the install's platform token.",
      'Set the variable ACME_WEBHOOK_SECRET: the signing secret of its webhook endpoint.',
      `Then run: gangway start --config ${file}`,
    ]);
  });

  it('overwrites nothing without --force, and does not keep the old mode with it', async () => {
    const file = newFile();
    writeFileSync(file, 'mine', { mode: 0o644 });
    await expect(init(file)).rejects.toThrow('is already there; --force replaces it');
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(existsSync(path.join(path.dirname(file), 'gangway.schema.json'))).toBe(false);

    expect(await init(file, '--force')).toContain('Then run: gangway start\n');
    expect(modeOf(file)).toBe(0o600);
  });

  it.each(['__proto__', 'Acme', 'a b', ''])('refuses the install name %j', async (name) => {
    const file = path.join(createWorkspace(), 'g.json');
    await expect(init(file, '--install', name)).rejects.toThrow('--install: a name is 1 to 63');
    expect(existsSync(file)).toBe(false);
  });
});
