import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { acmeSecret, type BridgeProcess, startBridge, writeBridgeConfig } from '../../support/bridge-process.ts';
import { openBridgeState } from '../../support/bridge-state.ts';
import { postgres } from '../../support/databases.ts';
import { createFolder } from '../../support/folder.ts';
import { createSender } from '../../support/sender.ts';
import { isThorough } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

/** What is usual where all is tried. At a desk it drains for less, and is asked more often. */
const [drain, checkEveryMs] = isThorough ? ['5s', 1000] : ['3s', 100];

describe('two instances behind a balancer', () => {
  it('refuse no delivery while one after the other is restarted', async () => {
    const setup = writeBridgeConfig(createFolder(), await postgres.createMigrated(), undefined, {
      receiver: { host: '127.0.0.1', port: 0, drain },
    });
    const state = openBridgeState(setup.databaseUrl);
    const balancer = await openBalancer();
    let bridges: BridgeProcess[] = await Promise.all([startBridge(setup), startBridge(setup)]);
    balancer.serve(bridges);
    const load = sendUntilStopped(balancer.url);

    for (const leaving of bridges) {
      const stopped = leaving.stop();
      await until('it drains', () => readinessOf(leaving), isDraining);
      expect(await stopped).toBe(0);
      bridges = [...bridges.filter((bridge) => bridge !== leaving), await startBridge(setup)];
      balancer.serve(bridges);
    }

    const { sent, refused } = await load.stop();
    expect(refused).toEqual([]);
    expect(sent).toBeGreaterThan(100);
    expect(await state.countDeliveries()).toBe(sent);
  });

  it('go on after their terminal hangs up', async () => {
    const setup = writeBridgeConfig(createFolder(), await postgres.createMigrated());
    const bridge = await startBridge(setup);
    process.kill(bridge.pid, 'SIGHUP');
    const wasHungUp = () => bridge.log().some(({ msg }) => String(msg).startsWith('SIGHUP'));
    await until('it was hung up', wasHungUp, (was) => was);
    expect(await readinessOf(bridge)).toEqual([200, 200]);
    expect(await bridge.stop()).toBe(0);
  });
});

/** What both listeners say. */
async function readinessOf({ url, consoleUrl }: BridgeProcess): Promise<number[]> {
  const listeners = [new URL(url).origin, consoleUrl];
  const answers = await Promise.all(listeners.map((origin) => fetch(`${origin}/readyz`)));
  return answers.map(({ status }) => status);
}

function isDraining(readiness: number[]): boolean {
  return readiness.every((status) => status === 503);
}

interface Balancer {
  url: string;
  /** From now on deliveries go to those of these that are ready. */
  serve(bridges: readonly BridgeProcess[]): void;
}

/** Asks each again and again whether it is ready, takes turns, and tries nothing twice. */
async function openBalancer(): Promise<Balancer> {
  let backends: { url: string; isReady: boolean }[] = [];
  let turn = 0;
  const server = createServer((incoming, outgoing) => {
    const ready = backends.filter(({ isReady }) => isReady);
    turn += 1;
    const chosen = ready[turn % ready.length];
    if (chosen === undefined) outgoing.writeHead(502).end('{"code":"no_instance_is_ready"}');
    else pass(incoming, outgoing, chosen.url);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stopping = new AbortController();
  onTestFinished(() => {
    stopping.abort();
    server.close();
    server.closeAllConnections();
  });
  const { signal } = stopping;
  const checking = async () => {
    while (!signal.aborted) {
      await Promise.all(
        backends.map(async (backend) => {
          const answer = await fetch(`${new URL(backend.url).origin}/readyz`).catch(() => null);
          backend.isReady = answer?.ok === true;
        }),
      );
      await wait(checkEveryMs, undefined, { signal }).catch(() => undefined);
    }
  };
  void checking();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serve(bridges) {
      backends = bridges.map(({ url }) => ({ url, isReady: true }));
    },
  };
}

function pass(incoming: IncomingMessage, outgoing: ServerResponse, url: string): void {
  const { method, headers } = incoming;
  const passed = request(url, { method, headers });
  passed.on('response', (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' });
    answer.pipe(outgoing);
  });
  passed.on('error', () => outgoing.writeHead(502).end('{"code":"cut_off"}'));
  incoming.pipe(passed);
}

/** Deliveries of a kind that nothing uses: what counts is that each is stored. */
function sendUntilStopped(url: string) {
  const sender = createSender(acmeSecret, 4);
  const refused: string[] = [];
  let sent = 0;
  let isStopped = false;
  async function sendOn(): Promise<void> {
    while (!isStopped) {
      sent += 1;
      const id = `dlv-${sent}`;
      const body = JSON.stringify({ id, type: 'nothing.uses_it' });
      const { status, said } = await sender.send(url, body, id);
      if (status !== 200) refused.push(`${status} ${said}`);
      await wait(25);
    }
  }
  const sending = Promise.all([sendOn(), sendOn(), sendOn(), sendOn()]);
  return {
    async stop() {
      isStopped = true;
      await sending;
      return { sent, refused };
    },
  };
}
