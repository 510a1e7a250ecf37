import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { takeFreePort } from '../../src/cli/try-command.ts';
import { openForTest, sqlite } from '../support/databases.ts';
import { createFolder } from '../support/folder.ts';
import { openReceiver } from '../support/receiver-harness.ts';
import { until } from '../support/until.ts';

/** The proxies of `deploy/`, from Debian, in front of a receiver: what was signed must arrive as it was signed. */

const limit = 256 * 1024;
const host = 'bridge.example.com';

interface Proxy {
  command: string;
  /** @returns its process, listening with TLS on the port */
  start(folder: string, port: number, receiverPort: number): ChildProcess;
}

const proxies: Proxy[] = [
  {
    command: 'nginx',
    start(folder, port, receiverPort) {
      const [cert, key] = makeCertificate(folder);
      const server = readFileSync('deploy/nginx/gangway.conf', 'utf8')
        .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
        .replace('127.0.0.1:8787', `127.0.0.1:${receiverPort}`)
        .replace('/etc/ssl/certs/bridge.pem', cert)
        .replace('/etc/ssl/private/bridge.key', key);
      const file = path.join(folder, 'nginx.conf');
      const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((one) => `${one}_temp_path ${folder};`);
      writeFileSync(
        file,
        `pid ${folder}/pid; error_log stderr; events {} http { access_log off; ${places.join(' ')} ${server} }`,
      );
      return spawn('nginx', ['-c', file, '-p', folder, '-g', 'daemon off; master_process off;'], { stdio: 'inherit' });
    },
  },
  {
    command: 'caddy',
    start(folder, port, receiverPort) {
      const file = path.join(folder, 'Caddyfile');
      // A certificate of its own making, instead of one from an authority.
      const options = `{\n\tadmin off\n\tauto_https disable_redirects\n\thttps_port ${port}\n\tskip_install_trust\n\tlocal_certs\n}\n`;
      writeFileSync(file, options + readFileSync('deploy/caddy/Caddyfile', 'utf8'));
      mkdirSync(path.join(folder, 'data'));
      const env = {
        ...process.env,
        BRIDGE_HOST: host,
        BRIDGE_ADDRESS: `127.0.0.1:${receiverPort}`,
        XDG_DATA_HOME: path.join(folder, 'data'),
        XDG_CONFIG_HOME: path.join(folder, 'data'),
      };
      return spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', file], { env, stdio: 'ignore' });
    },
  },
];

for (const { command, start } of proxies) {
  const isInstalled = spawnSync(command, [command === 'nginx' ? '-v' : 'version']).status === 0;
  if (!isInstalled) process.stderr.write(`*** NOT RUN: ${command} is not installed ***\n`);
  describe.skipIf(!isInstalled)(`behind ${command}`, () => {
    async function open() {
      const receiver = await openReceiver(openForTest(await sqlite.createMigrated()));
      const [folder, port] = [createFolder(), await takeFreePort()];
      const proxy = start(folder, port, receiver.port);
      onTestFinished(() => void proxy.kill('SIGKILL'));
      await until(
        'the proxy listens',
        () => send(port, '/').catch(() => undefined),
        (status) => status !== undefined,
      );
      return { receiver, port };
    }

    it('a signed delivery of 256 KiB arrives byte by byte', async () => {
      const { receiver, port } = await open();
      const bodies = [Buffer.alloc(limit, ' '), Buffer.from('{"a":\r\n"\u00e9\ufeff"}\n\n')];
      for (const body of bodies) {
        const headers = { 'x-opentrain-signature': receiver.signatureOf(body) };
        expect(await send(port, '/webhooks/acme', body, headers)).toBe(200);
      }
      const stored = await receiver.stored();
      // What is no event is kept, and read again after an upgrade.
      expect(stored.map(({ body }, index) => body.equals(bodies[index] ?? Buffer.alloc(0)))).toEqual([true, true]);
    });

    it('a larger one and one with a wrong signature are refused by Gangway, and nothing else is reached', async () => {
      const { receiver, port } = await open();
      const large = Buffer.alloc(limit + 1, ' ');
      const headers = { 'x-opentrain-signature': receiver.signatureOf(large) };
      expect(await send(port, '/webhooks/acme', large, headers)).toBe(413);
      expect(await send(port, '/webhooks/acme', Buffer.from('{}'), headers)).toBe(401);
      expect(await send(port, '/healthz')).toBe(404);
      expect(await receiver.stored()).toEqual([]);
    });
  });
}

function makeCertificate(folder: string): [cert: string, key: string] {
  const [cert, key] = [path.join(folder, 'cert.pem'), path.join(folder, 'key.pem')];
  const subject = ['-subj', `/CN=${host}`, '-days', '1'];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject], {
    stdio: 'ignore',
  });
  return [cert, key];
}

/** @returns the status of the answer */
function send(port: number, to: string, body?: Buffer, headers: Record<string, string> = {}): Promise<number> {
  const agent = new Agent({ rejectUnauthorized: false });
  const type = body && { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        ...{ agent, port, host: '127.0.0.1', servername: host, path: to, method: body ? 'POST' : 'GET' },
        headers: { host, ...type, ...headers },
        signal: AbortSignal.timeout(10_000),
      },
      (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
      },
    );
    sent.on('error', reject).end(body);
  });
}
