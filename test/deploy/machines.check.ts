import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Server } from 'node:net';
import path from 'node:path';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStorage } from '../../src/app/storage.ts';
import { takeFreePort } from '../../src/cli/try-command.ts';
import { openWorld } from '../sandbox/sandbox-harness.ts';
import { acmeSecret, secretKey, startBridge, writeBridgeConfig } from '../support/bridge-process.ts';
import { programFile } from '../support/built-program.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createFolder } from '../support/folder.ts';
import { openOwnPostgres } from '../support/postgres-server.ts';
import { createSender } from '../support/sender.ts';
import { until } from '../support/until.ts';

/** What stands between Gangway and others on real machines: proxies, private authorities and pools of connections. */

/** No name server knows it. */
const host = 'marketplace.test';

function lacks(command: string): boolean {
  const isMissing = spawnSync('which', [command]).status !== 0;
  if (isMissing) process.stderr.write(`*** NOT RUN: ${command} is not installed ***\n`);
  return isMissing;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A proxy that leads every connection to a server on this machine. */
async function openProxy(server: string) {
  const asked: string[] = [];
  const proxy = createServer().on('connect', ({ url = '' }, client) => {
    asked.push(url);
    client.on('error', () => undefined);
    const upstream = connect(Number(new URL(server).port), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
    upstream.on('error', () => undefined);
  });
  const port = await listen(proxy);
  onTestFinished(() => proxy.closeAllConnections());
  return { asked, url: `http://user:secret@127.0.0.1:${port}` };
}

/** @returns what `gangway doctor` prints of a marketplace */
async function examine(marketplaceUrl: string, env: Record<string, string>): Promise<string> {
  const databaseUrl = `sqlite:${path.join(createFolder(), 'new.db')}`;
  const { configFile } = writeBridgeConfig(createFolder(), databaseUrl, marketplaceUrl);
  const all = { DATABASE_URL: databaseUrl, ACME_SECRET: 'whsec_c2VjcmV0LW9mLWFjbWU', ...env };
  return await new Promise((resolve) => {
    const args = [programFile, 'doctor', '--config', configFile];
    execFile(process.execPath, args, { env: all }, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
}

const isRead = /ok +install acme: Token valid/;

it.each([
  ['leads to the marketplace', {}, [`${host}:80`], isRead],
  ['is not used for what NO_PROXY names', { NO_PROXY: host }, [], /: (ENOTFOUND|EAI_AGAIN) \(HTTPS_PROXY/],
])('a proxy of the environment %s', async (_what, env, asked, says) => {
  const { baseUrl, token } = await openWorld();
  const proxy = await openProxy(baseUrl);
  const named = `http://${host}${new URL(baseUrl).pathname}`;
  const output = await examine(named, { ACME_TOKEN: token, HTTP_PROXY: proxy.url, ...env });
  expect([...new Set(proxy.asked)]).toEqual(asked);
  expect(output).toMatch(says);
  expect(output).not.toContain('secret@');
});

it('both listeners take connections by IPv6, and the public one on both', async () => {
  const databaseUrl = `sqlite:${path.join(createFolder(), 'new.db')}`;
  const bridge = await startBridge(
    writeBridgeConfig(createFolder(), databaseUrl, undefined, {
      receiver: { host: '::', port: 0, drain: '0s' },
      console: { host: '::1', port: 0 },
    }),
  );
  expect([bridge.url, bridge.consoleUrl]).toEqual([
    expect.stringMatching(/^http:\/\/\[::1\]:\d+\/webhooks\/acme$/),
    expect.stringMatching(/^http:\/\/\[::1\]:\d+$/),
  ]);
  const sender = createSender(acmeSecret, 1);
  const createdAt = new Date().toISOString();
  for (const [at, host] of ['[::1]', '127.0.0.1'].entries()) {
    const url = bridge.url.replace('[::1]', host);
    const hired = fullEvent({ type: 'contract.started', createdAt, contract: `cmc${at}` });
    expect(await sender.send(url, hired, `d${at}`)).toMatchObject({ said: 'accepted' });
  }
  expect((await fetch(`${bridge.consoleUrl}/healthz`)).status).toBe(200);
  expect(await bridge.stop()).toBe(0);
});

/** A certificate for `localhost`, which nobody else has signed. */
function makeCertificate(folder: string): { cert: string; key: string } {
  const [cert, key] = [path.join(folder, 'cert.pem'), path.join(folder, 'key.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '1'];
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject];
  execFileSync('openssl', made, { stdio: 'ignore' });
  return { cert, key };
}

describe.skipIf(lacks('openssl'))('a private authority', () => {
  it.each([
    ['NODE_EXTRA_CA_CERTS names it', true, isRead],
    [
      'nothing names it',
      false,
      /read the install: DEPTH_ZERO_SELF_SIGNED_CERT. For a private authority, set NODE_EXTRA_CA_CERTS/,
    ],
  ])('of the marketplace: %s', async (_when, isNamed, says) => {
    const { baseUrl, token } = await openWorld();
    const { cert, key } = makeCertificate(createFolder());
    const server = createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) }, (incoming, outgoing) => {
      const { method, headers, url: to } = incoming;
      const passed = request(new URL(to ?? '', baseUrl), { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(outgoing);
      });
      incoming.pipe(passed);
    });
    const port = await listen(server);
    const env = { ACME_TOKEN: token, ...(isNamed && { NODE_EXTRA_CA_CERTS: cert }) };
    expect(await examine(`https://localhost:${port}${new URL(baseUrl).pathname}`, env)).toMatch(says);
  });

  it.each([
    ['signed it, and the name is right', 'localhost', true, 'opened'],
    ['signed it, and the name is wrong', '127.0.0.1', true, /altnames/],
    ['did not sign it', 'localhost', false, /self-signed certificate/],
  ])('of PostgreSQL with sslmode=verify-full %s', async (_what, named, isTheirs, expected) => {
    const { databaseUrl } = await openOwnPostgres();
    const [theirs, other] = [makeCertificate(createFolder()), makeCertificate(createFolder())];
    await encrypt(databaseUrl, theirs);
    const url = new URL(databaseUrl);
    url.hostname = named;
    url.search = `sslmode=verify-full&sslrootcert=${isTheirs ? theirs.cert : other.cert}`;
    const opened = openStorage(url.href, secretKey).then(async ({ database }) => {
      await database.close();
      return 'opened';
    });
    if (expected === 'opened') expect(await opened).toBe(expected);
    else await expect(opened).rejects.toThrow(expected);
  });
});

/** Has a server take encrypted connections. */
async function encrypt(databaseUrl: string, { cert, key }: { cert: string; key: string }): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ data_directory: string }>('show data_directory');
  const folder = rows[0]?.data_directory ?? '';
  const { uid, gid } = statSync(folder);
  for (const [name, from] of [['server.crt', cert] as const, ['server.key', key] as const]) {
    const file = path.join(folder, name);
    writeFileSync(file, readFileSync(from));
    chownSync(file, uid, gid);
    chmodSync(file, 0o600);
  }
  await client.query('alter system set ssl = on');
  await client.query('select pg_reload_conf()');
  await client.end();
  const isEncrypted = async () => {
    const probe = new pg.Client({ connectionString: databaseUrl, ssl: { rejectUnauthorized: false } });
    return await probe.connect().then(
      () => probe.end().then(() => true),
      () => false,
    );
  };
  await until('it takes encrypted connections', isEncrypted, Boolean);
}

describe.skipIf(lacks('pgbouncer'))('PgBouncer', () => {
  it.each([
    ['as it is', ''],
    [
      'that ignores the time limits',
      'ignore_startup_parameters = statement_timeout, idle_in_transaction_session_timeout',
    ],
  ])('%s is refused, and says what to do', async (_how, setting) => {
    const { databaseUrl } = await openOwnPostgres();
    const { hostname, port, pathname, username, password } = new URL(databaseUrl);
    const [listenPort, folder] = [await takeFreePort(), createFolder()];
    const file = path.join(folder, 'pgbouncer.ini');
    const server = `host=${hostname} port=${port} dbname=${pathname.slice(1)} user=${username} password=${password}`;
    const lines = ['[databases]', `${pathname.slice(1)} = ${server}`, '[pgbouncer]', `listen_port = ${listenPort}`];
    const more = [
      'listen_addr = 127.0.0.1',
      'unix_socket_dir =',
      'auth_type = any',
      'pool_mode = transaction',
      setting,
    ];
    writeFileSync(file, [...lines, ...more, ''].join('\n'));
    chmodSync(folder, 0o755);
    const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
    const bouncer = spawn('pgbouncer', [...user, file], { stdio: 'ignore' });
    onTestFinished(() => void bouncer.kill('SIGKILL'));
    const listens = () =>
      new Promise<boolean>((resolve) => {
        const probe = connect(listenPort, '127.0.0.1');
        probe.on('connect', () => resolve(true)).on('error', () => resolve(false));
        onTestFinished(() => void probe.destroy());
      });
    await until('it listens', listens, Boolean);
    const url = new URL(databaseUrl);
    url.port = String(listenPort);
    await expect(openStorage(url.href, secretKey)).rejects.toThrow(
      'database.url leads to PgBouncer or another pool. Set database.url to PostgreSQL itself',
    );
  });
});
