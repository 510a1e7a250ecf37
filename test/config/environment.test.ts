import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { otherVariables, readEnvironment, variables } from '../../src/config/environment.ts';
import { findConfiguration } from '../../src/config/find-configuration.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { createWorkspace } from './workspace.ts';

const token = { GANGWAY_TOKEN: 'ot_ptk_1' };

describe('findConfiguration', () => {
  it.each<[string, { path?: string; env?: Record<string, string>; hasFile?: true }, object]>([
    ['the option', { path: 'a.json', env: { GANGWAY_CONFIG: 'b.json' } }, { file: 'a.json' }],
    ['GANGWAY_CONFIG before the usual file', { env: { GANGWAY_CONFIG: 'b.json' }, hasFile: true }, { file: 'b.json' }],
    ['the usual file', { env: token, hasFile: true }, { file: 'gangway.config.json' }],
    ['the variables', { env: token }, { kind: 'environment' }],
    ['one misspelt variable', { env: { GANGWAY_TOKN: 'x' } }, { kind: 'environment' }],
    ['a variable set to nothing', { env: { GANGWAY_CONFIG: '' } }, { kind: 'environment' }],
    ['production', { env: { NODE_ENV: 'production' } }, { kind: 'environment' }],
    ['nothing', { env: { NODE_ENV: 'development', HOME: '/root' } }, { kind: 'none' }],
  ])('finds %s', (_, { path, env = {}, hasFile }, expected) => {
    const cwd = createWorkspace(hasFile ? { 'gangway.config.json': {} } : {});
    const found = findConfiguration({ path, env, cwd });
    const file = 'file' in expected ? { kind: 'file', path: `${cwd}/${expected.file}` } : expected;
    expect(found).toEqual(file);
  });

  it.each([
    {},
    { NODE_ENV: 'production' },
    { GANGWAY_TOKN: 'x' },
    // A shell may have these variables because a configuration file elsewhere refers to them.
    { GANGWAY_CONSOLE_TOKEN: 'x', GANGWAY_SECRET_KEY: 'y', GANGWAY_DATABASE_URL: 'sqlite:z' },
  ])('fails in another folder, with no more than %j, and says where it has looked', (env) => {
    const cwd = createWorkspace();
    const names = Object.keys(env).filter((name) => name.startsWith('GANGWAY_'));
    const set =
      names.length === 0
        ? ''
        : `; ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} set, but not enough to configure an install`;
    expect(() => loadConfig({ env, cwd })).toThrow(
      `there is no configuration: no gangway.config.json in ${cwd}${set}. Run this in its folder`,
    );
  });
});

describe('the variables alone', () => {
  it('are enough for one install', () => {
    const cwd = createWorkspace();
    const { config, source, warnings } = loadConfig({ env: token, cwd });
    expect(source).toEqual({ kind: 'environment' });
    expect(warnings).toEqual([]);
    expect(config.installs.get('default')).toEqual({
      source: 'platform',
      jobs: new Map(),
      guidelines: false,
      token: 'ot_ptk_1',
      webhookSecrets: [],
      tool: 'default',
      projects: ['*'],
    });
    expect(config.tools.get('default')).toMatchObject({
      adapter: 'roster',
      settings: { path: `${cwd}/data/roster.json` },
    });
    expect(config.database.url).toBe(`sqlite:${cwd}/data/gangway.db`);
  });

  it.each<Record<string, string>>([
    { GANGWAY_TOOL_ADAPTER: 'cvat' },
    { GANGWAY_MARKETPLACE_URL: 'https://market' },
    { NODE_ENV: 'production', GANGWAY_PUBLIC_URL: 'https://bridge' },
    { NODE_ENV: 'production', GANGWAY_CONNECT_TOKEN: 'ot_ptk_1' },
  ])('say with %j that customers are connected by command', (env) => {
    const { config } = loadConfig({ env, cwd: createWorkspace() });
    expect(config.installs.size).toBe(0);
    expect([...config.tools.keys()]).toEqual(['default']);
  });

  it.each(['GANGWAY_INSTALL', 'GANGWAY_PROJECTS', 'GANGWAY_WEBHOOK_SECRET'])(
    'say with %s that there is an install, which needs its token',
    (name) => {
      const env = { [name]: 'acme', GANGWAY_TOOL_ADAPTER: 'roster' };
      expect(() => loadConfig({ env, cwd: createWorkspace() })).toThrow(/token \(GANGWAY_TOKEN\): is missing/);
    },
  );

  it('set every key that they are documented for', () => {
    const env = {
      ...token,
      GANGWAY_INSTALL: 'acme',
      GANGWAY_WEBHOOK_SECRET: 'whsec_1, whsec_2',
      GANGWAY_PROJECTS: 'a-*,17',
      GANGWAY_TOOL_ADAPTER: 'label-studio',
      GANGWAY_TOOL_PATH: 'p',
      GANGWAY_TOOL_URL: 'http://tool',
      GANGWAY_TOOL_TOKEN: 'tool-token',
      GANGWAY_TOOL_OFFBOARDING: 'delete_user',
      GANGWAY_MARKETPLACE_URL: 'https://market/api/',
      GANGWAY_MANAGED_DOMAINS: 'A.example,b.example',
      GANGWAY_DATABASE_URL: 'sqlite:/db',
      GANGWAY_RECEIVER_HOST: '::',
      GANGWAY_RECEIVER_PORT: '1',
      GANGWAY_RECEIVER_DRAIN: '10s',
      GANGWAY_PUBLIC_URL: 'https://bridge',
      GANGWAY_CONSOLE_HOST: '::1',
      GANGWAY_CONSOLE_PORT: '2',
      GANGWAY_CONSOLE_TOKEN: 'console-token',
      GANGWAY_LOG_LEVEL: 'warn',
      GANGWAY_LOG_FORMAT: 'text',
    };
    const { config } = loadConfig({ env, cwd: '/srv' });
    expect(config).toMatchObject({
      receiver: { host: '::', port: 1, drainMs: 10_000, publicUrl: 'https://bridge' },
      console: { host: '::1', port: 2, token: 'console-token' },
      database: { url: 'sqlite:/db' },
      marketplace: { baseUrl: 'https://market/api', managedDomains: ['a.example', 'b.example'] },
      log: { level: 'warn', format: 'text' },
    });
    expect(config.installs.get('acme')).toEqual({
      source: 'platform',
      jobs: new Map(),
      guidelines: false,
      token: 'ot_ptk_1',
      webhookSecrets: ['whsec_1', 'whsec_2'],
      tool: 'default',
      projects: ['a-*', '17'],
    });
    expect(config.tools.get('default')).toMatchObject({
      adapter: 'label-studio',
      settings: {
        path: '/srv/p',
        url: 'http://tool',
        token: 'tool-token',
        offboarding: 'delete_user',
      },
    });
    const documented = variables.map(({ name }) => name);
    expect(
      Object.keys(env)
        .filter((name) => name !== 'GANGWAY_INSTALL')
        .sort(),
    ).toEqual(documented.sort());
  });

  it.each(variables.map(({ name }) => name))('%s can be read from a file', (name) => {
    const cwd = createWorkspace();
    const env = { ...(name !== 'GANGWAY_TOKEN' && token), [`${name}_FILE`]: 'absent' };
    expect(() => loadConfig({ env, cwd })).toThrow(`${name}: the file ${cwd}/absent does not exist`);
  });

  it('are read from their files, without a byte order mark and a newline at the end', () => {
    const cwd = createWorkspace({ token: '\ufeffot_ptk_9\n' });
    const { config } = loadConfig({ env: { GANGWAY_TOKEN_FILE: 'token' }, cwd });
    expect(config.installs.get('default')?.token).toBe('ot_ptk_9');
  });

  it.each(['--env-file', 'Node'])(
    'keep a wall that is the first line after a byte order mark, read by %s',
    (reader) => {
      const cwd = createWorkspace({ variables: '\ufeffGANGWAY_PROJECTS=signs\r\nGANGWAY_TOKEN=ot_ptk_1\r\n' });
      const env =
        reader === 'Node'
          ? readEnvironment({}, { '\ufeffGANGWAY_PROJECTS': 'signs', GANGWAY_TOKEN: '\ufeffot_ptk_1' })
          : readEnvironment({ envFile: 'variables' }, {}, cwd);
      const { config } = loadConfig({ env, cwd });
      expect(config.installs.get('default')).toMatchObject({ projects: ['signs'], token: 'ot_ptk_1' });
    },
  );

  const beside = {
    'gangway.config.json': {},
    '.env': 'TOOL_TOKEN=from-dot-env\nOTHER=1\n',
    named: 'TOOL_TOKEN=named\n',
  };

  it('are read from a .env beside the configuration file, unless they are set', () => {
    const cwd = createWorkspace(beside);
    expect(readEnvironment({}, { OTHER: '2' }, cwd)).toEqual({ TOOL_TOKEN: 'from-dot-env', OTHER: '2' });
    const config = path.join(cwd, 'gangway.config.json');
    expect(readEnvironment({ config }, {}, createWorkspace())).toHaveProperty('TOOL_TOKEN', 'from-dot-env');
    expect(readEnvironment({}, { GANGWAY_CONFIG: config }, createWorkspace())).toHaveProperty('OTHER', '1');
    expect(readEnvironment({ envFile: 'named' }, {}, cwd)).toEqual({ TOOL_TOKEN: 'named' });
  });

  it('are not read from a .env without a configuration file, nor from an empty one', () => {
    expect(readEnvironment({}, {}, createWorkspace({ '.env': 'A=1' }))).toEqual({});
    expect(readEnvironment({}, {}, createWorkspace({ ...beside, '.env': '' }))).toEqual({});
  });

  it.each([
    ['A=1\r\n\r\n  # note\r\nexport B = two words # note\r\nC="# in\nquotes" # note\nD=\nE=\'it\'', null],
    ['A=1\nsecret\nB=2', 2],
    ['A: secret', 1],
    ['# note\n\nA="secret\nB=2\n', 3],
    ['A="two\nlines"\nB=\'secret', 3],
    ['=secret', 1],
    ['A="1" secret', 1],
  ])('of an environment file are faulty where a line is ignored: %j', (text, line) => {
    const cwd = createWorkspace({ ...beside, '.env': text });
    const read = () => readEnvironment({}, {}, cwd);
    if (line === null) expect(read()).toEqual({ A: '1', B: 'two words', C: '# in\nquotes', D: '', E: 'it' });
    else
      expect(read).toThrow(new RegExp(`^${cwd}/\\.env, line ${line}: must be NAME=value, with both quotes or none$`));
  });

  it('are refused in a UTF-16 file from PowerShell', () => {
    const cwd = createWorkspace();
    const lines = Buffer.from('GANGWAY_PROJECTS=signs\r\n', 'utf16le');
    for (const mark of [[0xff, 0xfe], []]) {
      writeFileSync(path.join(cwd, 'variables'), Buffer.concat([Buffer.from(mark), lines]));
      expect(() => readEnvironment({ envFile: 'variables' }, {}, cwd)).toThrow(
        `${cwd}/variables is not UTF-8; save it as UTF-8`,
      );
    }
  });

  it.each<[Record<string, string>, RegExp]>([
    [{ GANGWAY_TOKEN_FILE: 'x' }, /GANGWAY_TOKEN: is set, and GANGWAY_TOKEN_FILE too/],
    [{ GANGWAY_RECEIVER_PORT: 'http' }, /receiver\.port \(GANGWAY_RECEIVER_PORT\): must be a number/],
    [{ GANGWAY_LOG_LEVEL: 'x' }, /log\.level \(GANGWAY_LOG_LEVEL\): /],
    [{ GANGWAY_WEBHOOK_SECRET: 'a,' }, /webhookSecrets\[1\] \(GANGWAY_WEBHOOK_SECRET\): /],
    [{ GANGWAY_INSTALL: '__proto__' }, /installs\.__proto__ \(GANGWAY_INSTALL\): /],
    [{ GANGWAY_RECIEVER_PORT: '1' }, /GANGWAY_RECIEVER_PORT: .*"GANGWAY_RECEIVER_PORT"/],
    [{ GANGWAY_CONFIG_FILE: 'x', GANGWAY_CONFIG: '' }, /GANGWAY_CONFIG_FILE: unknown variable/],
  ])('are refused as %j', (env, expected) => {
    expect(() => loadConfig({ env: { ...token, ...env }, cwd: createWorkspace() })).toThrow(expected);
  });

  it('are not confused with those of a Kubernetes Service', () => {
    const env = {
      ...token,
      GANGWAY_SERVICE_HOST: '10.0.0.1',
      GANGWAY_SERVICE_PORT: '8787',
      GANGWAY_SERVICE_PORT_HTTP: '8787',
      GANGWAY_PORT: 'tcp://10.0.0.1:8787',
      GANGWAY_PORT_8787_TCP: 'tcp://10.0.0.1:8787',
      GANGWAY_PORT_8787_TCP_ADDR: '10.0.0.1',
      GANGWAY_RECEIVER_PORT: 'tcp://10.0.0.2:8787',
      GANGWAY_RECEIVER_SERVICE_HOST: '10.0.0.2',
    };
    expect(loadConfig({ env, cwd: createWorkspace() }).config.receiver.port).toBe(8787);
  });

  it('have different names', () => {
    const names = [...variables.map(({ name }) => name), ...Object.keys(otherVariables)];
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('the secret key', () => {
  const key = randomBytes(32);
  const load = (env: Record<string, string>, files: Record<string, string> = {}) =>
    loadConfig({ env: { ...token, ...env }, cwd: createWorkspace(files) });

  it.each(['base64', 'base64url', 'hex'] as const)('is read as %s', (encoding) => {
    const { secretKey } = load({ GANGWAY_SECRET_KEY: key.toString(encoding) });
    expect(secretKey).toEqual(key);
  });

  it('is read from a file, and the key before it from a variable', () => {
    const older = randomBytes(32);
    const loaded = load(
      { GANGWAY_SECRET_KEY_FILE: 'key', GANGWAY_SECRET_KEY_PREVIOUS: older.toString('hex') },
      { key: `${key.toString('base64')}\n` },
    );
    expect(loaded.secretKey).toEqual(key);
    expect(loaded.previousSecretKey).toEqual(older);
  });

  it.each([
    'hunter2',
    randomBytes(31).toString('base64'),
    randomBytes(33).toString('base64'),
    randomBytes(16).toString('hex'),
    `${key.toString('base64').slice(0, 42)}B=`,
  ])('is refused when it is not 32 bytes: %s', (text) => {
    const act = () => load({ GANGWAY_SECRET_KEY: text });
    expect(act).toThrow(/GANGWAY_SECRET_KEY: must be 32 bytes .* openssl rand -base64 32/);
    expect(act).not.toThrow(text);
  });

  it('is required with PostgreSQL', () => {
    const env = { GANGWAY_DATABASE_URL: 'postgres://u@h/db' };
    expect(() => load(env)).toThrow(/GANGWAY_SECRET_KEY: is required with PostgreSQL; .* openssl/);
    expect(load({ ...env, GANGWAY_SECRET_KEY: key.toString('hex') }).previousSecretKey).toBeUndefined();
  });
});
