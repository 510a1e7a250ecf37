import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { takeFreePort } from '../../src/cli/try-command.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { acmeSecret } from '../support/bridge-process.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createFolder } from '../support/folder.ts';
import { minutesAgo } from '../support/lifecycle-events.ts';
import { readRoster } from '../support/roster.ts';
import { sign } from '../support/sign.ts';
import { until } from '../support/until.ts';
import { connecting, letFirstMemberIn } from './first-member.ts';

/**
 * The image as `.ci/image` has built it, unpacked in `IMAGE_ROOT` with the variables `IMAGE_ENV`: run as a user whom nobody knows, with nothing to write to
 * but `/data`, as `docker run --read-only --user 54321 -v …:/data` does.
 */
const root = process.env['IMAGE_ROOT'] ?? '';
if (root === '') process.stderr.write('*** NOT RUN: there is no image. .ci/image builds it ***\n');

const user = '54321:54321';
const stopMs = 10_000;

describe.skipIf(root === '')('the image', () => {
  async function start() {
    const data = createFolder();
    // Nobody owns it but the user of the container.
    chmodSync(data, 0o777);
    const [port, consolePort] = [await takeFreePort(), await takeFreePort()];
    const env = {
      GANGWAY_TOKEN: 'token-of-acme',
      GANGWAY_WEBHOOK_SECRET: acmeSecret,
      GANGWAY_INSTALL: 'acme',
      GANGWAY_TOOL_ADAPTER: 'roster',
      GANGWAY_TOOL_PATH: '/data/roster.json',
      GANGWAY_MARKETPLACE_URL: 'http://127.0.0.1:9/api/partner/v1',
      GANGWAY_RECEIVER_PORT: String(port),
      GANGWAY_CONSOLE_PORT: String(consolePort),
      GANGWAY_LOG_LEVEL: 'error',
    };
    const bridge = runInImage(data, env, 'start');
    const url = `http://127.0.0.1:${port}`;
    const isReady = () =>
      fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until('it is ready', isReady, (ready) => ready);
    const deliver = (id: string) =>
      post(`${url}/webhooks/acme`, fullEvent({ type: 'contract.started', contract: id, createdAt: minutesAgo(0) }));
    return { data, bridge, url, consoleUrl: `http://127.0.0.1:${consolePort}`, deliver };
  }

  it('is healthy, takes deliveries, and writes only below /data', async () => {
    const { data, url, consoleUrl, deliver } = await start();
    expect(await deliver('cmc1')).toBe(200);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(`${consoleUrl}/healthz`)).status).toBe(200);
    expect(readdirSync(data)).toContain('gangway.db');
    await until(
      'the trainer is in',
      () => existsSync(path.join(data, 'roster.json')),
      (isIn) => isIn,
    );
  });

  it('ends within 10 s of SIGTERM, and has stored what it answered', async () => {
    const { data, bridge, deliver } = await start();
    let [isOver, answered] = [false, 0];
    const sending = Array.from({ length: 8 }, async (_, lane) => {
      for (let number = 0; !isOver; number += 1) {
        const status = await deliver(`cmc${lane}x${number}`).catch(() => 0);
        if (status === 200) answered += 1;
        else await wait(5);
      }
    });
    await until(
      'deliveries are under way',
      () => answered,
      (count) => count > 100,
    );
    const askedAt = performance.now();
    bridge.kill('SIGTERM');
    const [status] = (await once(bridge, 'exit')) as [number | null];
    const tookMs = performance.now() - askedAt;
    isOver = true;
    await Promise.all(sending);
    expect({ status, isInTime: tookMs < stopMs }).toEqual({ status: 0, isInTime: true });
    const database = openDatabase(`sqlite:${data}/gangway.db`);
    const stored = await database.kysely.selectFrom('delivery').select('id').execute();
    await database.close();
    expect(stored.length).toBeGreaterThanOrEqual(answered);
  });

  it('lets a first member in', async () => {
    const data = createFolder();
    chmodSync(data, 0o777);
    const [port, consolePort] = [await takeFreePort(), await takeFreePort()];
    const env: Record<string, string> = {
      GANGWAY_TOOL_ADAPTER: 'roster',
      GANGWAY_TOOL_PATH: '/data/roster.json',
      GANGWAY_RECEIVER_PORT: String(port),
      GANGWAY_CONSOLE_PORT: String(consolePort),
    };
    await letFirstMemberIn({
      name: `image, which took ${process.env['BUILD_SECONDS']} s to build`,
      commands(marketplace) {
        env['GANGWAY_MARKETPLACE_URL'] = marketplace.baseUrl;
        return [
          'docker build -t gangway .',
          'docker run -d --name gangway … gangway',
          ...connecting(marketplace, 'docker exec -it gangway gangway'),
        ];
      },
      async type(command) {
        if (command.startsWith('docker build')) return;
        if (command.startsWith('docker run')) return void runInImage(data, env, 'start');
        const [, token, args = ''] = /^GANGWAY_CONNECT_TOKEN=(\S+) .* gangway (.*)$/.exec(command) ?? [];
        const typed = args || command.replace(/^.* gangway /, '');
        const child = runInImage(data, { ...env, ...(token && { GANGWAY_CONNECT_TOKEN: token }) }, ...typed.split(' '));
        expect(await once(child, 'exit')).toEqual([0, null]);
      },
      members: () => readRoster(path.join(data, 'roster.json'))['street-signs'] ?? [],
    });
  });

  it('is a command too', async () => {
    const command = runInImage(createFolder(), {}, 'version');
    const [said] = (await once(command.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
    expect(String(said)).toMatch(/^gangway \d|^\d+\.\d+\.\d+/);
  });
});

/** In a mount namespace of its own, which ends with it. The root cannot be written. */
function runInImage(data: string, env: Record<string, string>, ...args: string[]): ChildProcess {
  const script = `
    mount --bind "$ROOT" "$ROOT" && mount --rbind /dev "$ROOT/dev" && mount -t proc proc "$ROOT/proc" &&
    mount --bind "$DATA" "$ROOT/data" && mount -o remount,ro,bind "$ROOT" &&
    cd / && exec chroot --userspec=${user} "$ROOT" /bin/sh -c 'cd /gangway && exec env -i "$@"' sh "$@"`;
  const inImage = (process.env['IMAGE_ENV'] ?? '').split('\n').filter((line) => line !== '');
  const assigned = [...inImage, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  const program = ['node', '--max-semi-space-size=2', '--', '/app/dist/main.js', ...args];
  const child = spawn('unshare', ['--mount', 'sh', '-ec', script, 'sh', ...assigned, ...program], {
    env: { ...process.env, ROOT: root, DATA: data },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function post(url: string, body: string): Promise<number> {
  const timestamp = Math.floor(Date.now() / 1000);
  const signature = sign(body, acmeSecret, timestamp);
  const headers = { 'content-type': 'application/json', 'x-opentrain-signature': signature };
  return (await fetch(url, { method: 'POST', body, headers })).status;
}
