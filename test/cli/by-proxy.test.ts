import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openWorld } from '../sandbox/sandbox-harness.ts';
import { writeBridgeConfig } from '../support/bridge-process.ts';
import { programFile } from '../support/built-program.ts';
import { createFolder } from '../support/folder.ts';

/** No name server knows it. */
const host = 'marketplace.test';

/** A proxy that leads every connection to a server on this machine. */
async function openProxy(server: string) {
  const asked: string[] = [];
  const proxy: Server = createServer().on('connect', ({ url = '' }, client) => {
    asked.push(url);
    client.on('error', () => undefined);
    const upstream = connect(Number(new URL(server).port), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
    upstream.on('error', () => undefined);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => proxy.closeAllConnections());
  onTestFinished(() => void proxy.close());
  return { asked, url: `http://user:secret@127.0.0.1:${(proxy.address() as AddressInfo).port}` };
}

it.each([
  ['leads to the marketplace', {}, [`${host}:80`], /ok +install acme: Token valid/],
  [
    'is not used for what NO_PROXY names',
    { NO_PROXY: host },
    [],
    /(ENOTFOUND|EAI_AGAIN) \(HTTPS_PROXY or HTTP_PROXY names a proxy\)/,
  ],
])('a proxy of the environment %s', async (_what, env, asked, says) => {
  const { baseUrl, token } = await openWorld();
  const proxy = await openProxy(baseUrl);
  const marketplace = `http://${host}${new URL(baseUrl).pathname}`;
  const databaseUrl = `sqlite:${path.join(createFolder(), 'new.db')}`;
  const { configFile } = writeBridgeConfig(createFolder(), databaseUrl, marketplace);
  const output = await new Promise<string>((resolve) => {
    const args = [programFile, 'doctor', '--config', configFile];
    const environment = {
      DATABASE_URL: databaseUrl,
      ACME_TOKEN: token,
      ACME_SECRET: 'whsec_c2VjcmV0LW9mLWFjbWU',
      HTTP_PROXY: proxy.url,
      ...env,
    };
    execFile(process.execPath, args, { env: environment }, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
  expect([...new Set(proxy.asked)]).toEqual(asked);
  expect(output).toMatch(says);
  expect(output).not.toContain('secret@');
});
