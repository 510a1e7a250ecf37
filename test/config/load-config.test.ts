import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { Config } from '../../src/config/config-schema.ts';
import { type LoadedConfig, loadConfig } from '../../src/config/load-config.ts';
import { AppError } from '../../src/domain/errors.ts';
import { toSizeBytes } from '../../src/lib/units.ts';
import { createWorkspace, faultsOf as faultsIn, loadWritten } from './workspace.ts';

const token = { env: 'ACME_TOKEN' };
const env = { ACME_TOKEN: 'ot_ptk_1', ACME_SECRET: 'whsec_1' };
const acme = { token, webhookSecrets: [{ env: 'ACME_SECRET' }], tool: 'studio' };
const studio = { adapter: 'roster', path: './roster.json' };
const small = { installs: { acme }, tools: { studio } };
const key = Buffer.alloc(32, 7);

function load(file: unknown, variables: Record<string, string> = env): LoadedConfig {
  return loadWritten(file, variables);
}

function faultsOf(file: unknown, variables: Record<string, string> = env): string[] {
  return faultsIn(() => load(file, variables));
}

/** In a text, `__proto__` is a key like any other. */
function withInstall(name: string): string {
  return `{"installs": {${JSON.stringify(name)}: {"token": "t", "tool": "studio"}},
    "tools": {"studio": {"adapter": "roster"}}}`;
}

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code: 'invalid' });
    return error instanceof Error ? error.message : '';
  }
  throw new Error('the configuration was accepted');
}

describe('loadConfig with a file', () => {
  it('fills in the defaults and turns durations into milliseconds and names into Maps', () => {
    const { config, folder, source, warnings, secretKey } = load(small);
    expect(config).toEqual({
      receiver: {
        host: '0.0.0.0',
        port: 8787,
        maxConnections: 1000,
        drainMs: 5000,
        limits: {
          deliveriesPerMinute: 6000,
          bytesPerMinute: 64 * 1024 ** 2,
          storedBytes: 1024 ** 3,
          reserveBytes: 64 * 1024 ** 2,
        },
      },
      console: { host: '127.0.0.1', port: 8788, tokens: new Map(), hosts: [], trustedProxies: [] },
      database: { url: `sqlite:${folder}/data/gangway.db` },
      marketplace: {
        baseUrl: 'https://app.opentrain.ai/api/partner/v1',
        employerBaseUrl: 'https://app.opentrain.ai/api/public/v1',
        managedDomains: [],
        headerPrefixes: ['X-OpenTrain-', 'X-Service-'],
      },
      installs: new Map([
        [
          'acme',
          {
            ...{ source: 'platform', jobs: new Map(), guidelines: false },
            ...{ token: 'ot_ptk_1', webhookSecrets: ['whsec_1'], tool: 'studio', projects: ['*'] },
          },
        ],
      ]),
      tools: new Map([
        [
          'studio',
          {
            adapter: 'roster',
            protected: [],
            concurrency: 8,
            timeoutMs: 15_000,
            settings: { path: `${folder}/roster.json` },
          },
        ],
      ]),
      removals: { max: 25, maxFraction: 0.3, graceMs: 900_000, revokedGraceMs: 86_400_000 },
      reconcile: { schedule: '* * * * *' },
      subscription: { everyMs: 300_000 },
      feed: { everyMs: 30_000 },
      guidelines: { everyMs: 900_000 },
      usage: { schedule: '30 * * * *', lookbackMs: 1_209_600_000, maxLoweredFraction: 0.2, deletedTasks: 'keep' },
      notifications: { channels: new Map(), repeatMs: 7 * 86_400_000 },
      retention: { deliveriesMs: 2_592_000_000, peopleMs: 7_776_000_000 },
      links: new Map(),
      log: { level: 'info', format: 'auto' },
    });
    expect(source).toEqual({ kind: 'file', path: path.join(folder, 'gangway.config.json') });
    expect(warnings).toEqual([]);
    expect(secretKey).toBeUndefined();
  });

  it('leaves the settings of an adapter to the adapter, with references resolved at any depth', () => {
    const tool = {
      ...studio,
      headers: { 'x-key': token, list: [{ file: 'key.txt' }] },
      flag: true,
    };
    const cwd = createWorkspace({
      'gangway.config.json': { ...small, tools: { studio: tool } },
      'key.txt': 'from a file\n',
    });
    const { config } = loadConfig({ cwd, env });
    expect(config.tools.get('studio')?.settings).toEqual({
      path: `${cwd}/roster.json`,
      headers: { 'x-key': 'ot_ptk_1', list: ['from a file'] },
      flag: true,
    });
  });

  it('does not need the secrets of parts that are not used', () => {
    const [file, unset] = [{ file: 'not-there' }, { env: 'NOT_SET' }];
    const tool = { adapter: 'http', token: unset, login: { password: file } };
    const cwd = createWorkspace({ 'gangway.config.json': { ...small, tools: { studio: tool } } });
    expect(messageOf(() => loadConfig({ cwd, env }))).toContain('NOT_SET is not set');
    const { config } = loadConfig({ cwd, env, uses: ['installs'] });
    expect(config.installs.get('acme')).toMatchObject({ token: 'ot_ptk_1' });
    expect(messageOf(() => loadConfig({ cwd, env: {}, uses: ['installs'] })).split('\n  ')).toEqual([
      expect.any(String),
      'installs.acme.token: the variable ACME_TOKEN is not set',
    ]);
    expect(loadConfig({ cwd, env: {}, uses: [] }).config.installs.size).toBe(1);
  });

  it('resolves relative paths from the folder of the file, not from the working directory', () => {
    const cwd = createWorkspace({
      'etc/g.json': {
        database: { url: 'sqlite:db/x.db' },
        installs: { acme: { ...acme, token: { file: 'token' } } },
        tools: { studio: { ...studio, adapter: './my-tool.ts' } },
      },
      'etc/token': 'ot_ptk_2\r\n',
    });
    const { config } = loadConfig({ path: 'etc/g.json', cwd, env });
    expect(config.database.url).toBe(`sqlite:${cwd}/etc/db/x.db`);
    expect(config.tools.get('studio')?.adapter).toBe(`${cwd}/etc/my-tool.ts`);
    expect(config.tools.get('studio')?.settings.path).toBe(`${cwd}/etc/roster.json`);
    expect(config.installs.get('acme')?.token).toBe('ot_ptk_2');
  });

  it.each([
    ['sqlite::memory:', 'sqlite::memory:'],
    ['sqlite:/var/lib/g.db', 'sqlite:/var/lib/g.db'],
    ['sqlite:///var/lib/g.db', 'sqlite:/var/lib/g.db'],
    ['postgres://u@h/db', 'postgres://u@h/db'],
    ['postgresql://u@h/db', 'postgresql://u@h/db'],
    ['postgres://u:p%23@[::1]:5432/db?sslmode=require', 'postgres://u:p%23@[::1]:5432/db?sslmode=require'],
    ['postgres://u:p@/db?host=/run/postgresql', 'postgres://u:p@/db?host=/run/postgresql'],
    ['postgres:///db', 'postgres:///db'],
  ])('reads the database URL %s', (url, expected) => {
    const variables = { ...env, GANGWAY_SECRET_KEY: key.toString('base64') };
    expect(load({ ...small, database: { url } }, variables).config.database.url).toBe(expected);
  });

  it('tolerates a byte order mark and a $schema', () => {
    const text = `\uFEFF${JSON.stringify({ $schema: './gangway.schema.json', ...small })}`;
    expect(load(text).config).not.toHaveProperty('$schema');
  });

  it('lets variables override the settings of the server, and warns about the others', () => {
    const file = {
      ...small,
      receiver: { port: 1, publicUrl: 'https://a.example.com/' },
      console: { token: { env: 'NOT_SET' } },
    };
    const { config, warnings } = load(file, {
      ...env,
      GANGWAY_RECEIVER_PORT: '2',
      GANGWAY_CONSOLE_TOKEN: 'console-token',
      GANGWAY_LOG_LEVEL: 'debug',
      GANGWAY_TOKEN: 'ot_ptk_other',
      GANGWAY_TOOL_URL: '',
    });
    expect(config.receiver).toMatchObject({ port: 2, publicUrl: 'https://a.example.com' });
    expect(config.console.token).toBe('console-token');
    expect(config.log.level).toBe('debug');
    expect(config.installs.get('acme')?.token).toBe('ot_ptk_1');
    expect(warnings).toEqual(['GANGWAY_TOKEN is ignored: installs.default.token is decided by the file']);
  });

  it('knows the GANGWAY_ variables that the file refers to', () => {
    const install = { ...acme, token: { env: 'GANGWAY_TOKEN' } };
    const other = { ...acme, tool: 'other', token: { env: 'GANGWAY_ACME' } };
    const tools = { studio, other: studio };
    const variables = { ...env, GANGWAY_TOKEN: 'ot_a', GANGWAY_ACME: 'ot_b' };
    const { config, warnings } = load({ tools, installs: { install, other } }, variables);
    expect([...config.installs.values()].map((each) => each.token)).toEqual(['ot_a', 'ot_b']);
    expect(warnings).toEqual([]);
  });
});

describe('loadConfig refuses', () => {
  it('reports all faults at once, each with its path', () => {
    const file = {
      receiver: { prot: 1, host: 5 },
      marketplace: { managedDomains: ['@opentrain.work'], baseUrl: 'ftp://x' },
      installs: {
        acme: { token: { env: 'NOPE' }, tool: 'studoi' },
        Bad: { token, tool: 'studio', projects: ['a*b'] },
        open: { tool: 'studio', webhookSecrets: [{ file: 'absent' }] },
      },
      tools: { studio: { timeout: '5x' } },
      links: { 'p 1': { timeZone: 'Mars/Phobos' } },
      usage: { schedule: '61 * * * *' },
      log: { level: 'loud' },
      unknown: {},
    };
    expect(faultsOf(file, { ...env, GANGWAY_TOKN: 'x' })).toEqual([
      'installs.acme.token: the variable NOPE is not set',
      expect.stringMatching(/^installs\.open\.webhookSecrets\[0\]: the file .+absent does not exist$/),
      'receiver.host: must be a text',
      'receiver.prot: unknown key (did you mean "port"?)',
      'marketplace.baseUrl: write an http(s) URL without credentials, query or fragment',
      'marketplace.managedDomains[0]: write a domain such as "example.com", without an "@"',
      expect.stringMatching(/^installs\.Bad: a name is 1 to 63 of a-z/),
      expect.stringMatching(/^installs\.open\.token: is missing\. The token for the marketplace/),
      expect.stringMatching(/^tools\.studio\.adapter: is missing\. roster, label-studio/),
      expect.stringMatching(/^tools\.studio\.timeout: write a duration such as/),
      expect.stringMatching(/^usage\.schedule: write a cron pattern/),
      expect.stringMatching(/^links\["p 1"\]\.timeZone: write an IANA time zone/),
      'log.level: must be one of: trace, debug, info, warn, error, fatal, silent',
      'unknown: unknown key',
      'installs.acme.tool: no tool has the name "studoi" (did you mean "studio"?)',
      expect.stringMatching(/^installs\.open\.projects: is required, because other installs/),
      'GANGWAY_TOKN: unknown variable (did you mean "GANGWAY_TOKEN"?)',
    ]);
  });

  it.each<[string, unknown, RegExp]>([
    ['one port for both listeners', { receiver: { port: 8788 } }, /^console\.port: must differ/],
    ['a database of another kind', { database: { url: 'mysql://x' } }, /^database\.url: write/],
    ['an ambiguous sqlite URL', { database: { url: 'sqlite://x.db' } }, /^database\.url: write/],
    ['a fraction over 1', { removals: { maxFraction: 30 } }, /^removals\.maxFraction: /],
    ['a duration without unit', { removals: { grace: '15' } }, /^removals\.grace: write a/],
    ['a check without pause', { subscription: { every: '0s' } }, /^subscription\.every: must be/],
    ['an offset as time zone', { links: { p: { timeZone: '+02:00' } } }, /^links\.p\.timeZone/],
    ['a date as schedule', { reconcile: { schedule: '2030-01-01' } }, /^reconcile\.schedule/],
    ['a reference to no secret', { log: { level: { env: 'ACME_TOKEN' } } }, /^log\.level/],
    ['a reference too many', { console: { token: { env: 'A', file: 'b' } } }, /^console\.token/],
    ['credentials in a URL', { receiver: { publicUrl: 'https://a:b@c' } }, /^receiver\.publicUrl/],
  ])('%s', (_, file, expected) => {
    expect(faultsOf(file)).toEqual([expect.stringMatching(expected)]);
  });

  it.each(['__proto__', 'Acme', '', '-a', 'a'.repeat(64), 'a b', 'ä'])('the install name %j', (name) => {
    expect(faultsOf(withInstall(name))).toEqual([expect.stringMatching(/^installs/)]);
  });

  it.each(['constructor', 'a', '3m', 'a-b_c', 'a'.repeat(63)])('not the install name %j', (name) => {
    expect([...load(withInstall(name)).config.installs.keys()]).toEqual([name]);
  });

  it('takes "[::1]" as a host, which passed and could not be listened on, and refuses a port in it', () => {
    const { config } = load({ ...small, receiver: { host: '[::1]' }, console: { host: '[::1]' } });
    expect([config.receiver.host, config.console.host]).toEqual(['::1', '::1']);
    for (const host of ['localhost:8787', '[::1]:8787', '[::1', '']) {
      expect(() => load({ ...small, receiver: { host } })).toThrow(
        /receiver\.host: write a host name or an IP address/,
      );
    }
  });

  it.each(['p#a', '1#a', '1/a', 'p@a/b'])(
    'names the key of a database whose password "%s" is not encoded, which was an "Invalid URL"',
    (password) => {
      const url = `postgres://u:${password}@h/db`;
      const attempt = () => load({ ...small, database: { url: { env: 'URL' } } }, { ...env, URL: url });
      expect(attempt).toThrow(/database\.url: write "postgres:.*with "%23" for a "#"/);
    },
  );

  it.each(['0.0.0.0', '::', '10.0.0.1', 'bridge.example.com'])('a console on %s without a token', (host) => {
    const open = { ...small, console: { host } };
    expect(faultsOf(open)).toEqual([expect.stringMatching(/^console\.token: is required, .*openssl rand/)]);
    expect(load({ ...open, console: { host, token: { env: 'ACME_TOKEN' } } })).toBeTruthy();
    expect(load(open, { ...env, GANGWAY_CONSOLE_TOKEN: 'operators' })).toBeTruthy();
    const unset = { ...open, console: { host, token: { env: 'NOT_SET' } } };
    expect(faultsOf(unset)).toEqual(['console.token: the variable NOT_SET is not set']);
    expect(load({ ...small, console: { host: '::1' } })).toBeTruthy();
  });

  it('installs that share a tool without saying whose projects are whose', () => {
    const shared = { ...small, installs: { acme, other: { ...acme, projects: ['o-*'] } } };
    expect(faultsOf(shared)).toEqual([expect.stringMatching(/^installs\.acme\.projects: /)]);
    const walledOff = { ...acme, projects: ['a-*', '17'] };
    expect(load({ ...shared, installs: { ...shared.installs, acme: walledOff } }).config).toBeTruthy();
  });

  it.each<[string, Record<string, string>]>([
    ['missing', {}],
    ['empty', { secret: '' }],
    ['only a newline', { secret: '\n' }],
    ['over 64 KiB', { secret: 'x'.repeat(65_537) }],
    ['more than one line', { secret: 'a\nb' }],
  ])('a secret file that is %s', (_, files) => {
    const install = { ...acme, token: { file: 'secret' } };
    const cwd = createWorkspace({
      'gangway.config.json': { ...small, installs: { acme: install } },
      ...files,
    });
    const message = messageOf(() => loadConfig({ cwd, env }));
    expect(message.split('\n')).toHaveLength(2);
    expect(message).toContain('installs.acme.token: ');
  });

  it('a folder as secret file', () => {
    const cwd = createWorkspace({ 'gangway.config.json': { console: { token: { file: 'd' } } } });
    mkdirSync(path.join(cwd, 'd'));
    expect(messageOf(() => loadConfig({ cwd, env }))).toContain('is not a regular file');
  });

  it.each<[string, string]>([
    ['{\n  "log": {\n    "level": "in', 'line 3, column 14: expected a value'],
    ['[]', 'must hold one JSON object'],
  ])('the text %j', (text, expected) => {
    expect(messageOf(() => load(text))).toContain(`gangway.config.json: ${expected}`);
  });

  it('a missing file, and says how to create one', () => {
    const query = { path: '/nowhere/g.json', env: {} };
    expect(messageOf(() => loadConfig(query))).toMatch(/no such file; "gangway init" writes one/);
  });
});

describe('secrets', () => {
  it('that are written out lead to a warning with their path and without their value', () => {
    const { warnings } = load(
      {
        console: { token: 'hunter1' },
        database: { url: 'postgres://u:hunter2@h/db' },
        installs: { acme: { ...acme, token: 'hunter3', webhookSecrets: ['hunter4', token] } },
        tools: {
          studio: {
            ...studio,
            token: 'hunter5',
            auth: { apiKey: 'hunter6' },
            note: 'n',
            headers: { Authorization: 'Token {token}' },
          },
        },
      },
      { ...env, GANGWAY_SECRET_KEY: key.toString('base64') },
    );
    const remedy = 'the secret is written out; {"env": "NAME"} or {"file": "path"} keeps it out of the file';
    expect(warnings).toEqual(
      [
        'console.token',
        'database.url',
        'installs.acme.token',
        'installs.acme.webhookSecrets[0]',
        'tools.studio.token',
        'tools.studio.auth.apiKey',
      ].map((path) => `${path}: ${remedy}`),
    );
  });

  it.each<[string, unknown]>([
    ['with a space in it', { installs: { acme: { ...acme, token: 'hunter2 ' } } }],
    ['where a number belongs', { receiver: { port: 'hunter2' } }],
    ['as a wrong URL', { database: { url: 'mysql://u:hunter2@h' } }],
    ['as the name of a variable', { console: { token: { env: 'hunter2' } } }],
    ['as a log level', { log: { level: 'hunter2' } }],
    ['in a broken file', '{"console": {"token": "hunter2" "port": 1}}'],
    ['cut off', '{"console": {"token": "hunter2'],
  ])('are not quoted in a fault: %s', (_, file) => {
    expect(messageOf(() => load(file))).not.toContain('hunter2');
  });
});

describe('the schedule of reconciling', () => {
  it.each([
    [{}, '* * * * *'],
    [{ receiver: { publicUrl: 'https://example.com' } }, '*/15 * * * *'],
    [{ reconcile: { schedule: '0 * * * *' } }, '0 * * * *'],
  ])('with %j is %s', (change, schedule) => {
    expect(load({ ...small, ...change }).config.reconcile).toEqual({ schedule });
  });
});

describe('warnings', () => {
  it.each<[object, RegExp]>([
    [{ receiver: { publicUrl: 'http://example.com' } }, /^receiver\.publicUrl/],
    [{ marketplace: { baseUrl: 'http://10.0.0.1/api' } }, /^marketplace\.baseUrl/],
  ])('are given for %j', (change, expected) => {
    expect(load({ ...small, ...change }).warnings).toEqual([expect.stringMatching(expected)]);
  });

  it('are not given for loopback', () => {
    const urls = ['http://localhost:9', 'http://127.0.0.1:9', 'http://[::1]:9'];
    for (const baseUrl of urls) {
      expect(load({ ...small, marketplace: { baseUrl } }).warnings).toEqual([]);
    }
  });
});

it.each([
  ['0B', 0],
  ['512KiB', 512 * 1024],
  ['64MiB', 64 * 1024 ** 2],
  ['1GiB', 1024 ** 3],
  ['2TiB', 2 * 1024 ** 4],
  ['64', undefined],
  ['64MB', undefined],
  ['64 MiB', undefined],
  ['-1MiB', undefined],
  ['1.5GiB', undefined],
  ['', undefined],
])('%s is a size of %s bytes', (text, bytes) => {
  expect(toSizeBytes(text)).toBe(bytes);
});

it.each([
  ['a number', { bytesPerMinute: 1000 }],
  ['what is no size', { storedBytes: '1 gigabyte' }],
  ['less than a few deliveries', { bytesPerMinute: '100KiB' }],
  ['no deliveries at all', { deliveriesPerMinute: 0 }],
])('a limit that is %s is refused', (_, limits) => {
  expect(Config.safeParse({ receiver: { limits } }).success).toBe(false);
});
