import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { platformEventTypes } from '../../src/domain/event.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { listRoster } from '../support/roster.ts';
import { sign } from '../support/sign.ts';

/** Two customers of one marketplace, and a `gangway start` that shares a roster between them. */
export interface World {
  /** Stores an event as if the marketplace had sent it to `acme`. */
  forge(body: string): Promise<void>;
  /** Hires somebody for `globex`, and resolves when they are in the roster. @returns ms */
  hire(): Promise<number>;
  /** Ends the oldest hire, and resolves when they are out of it. @returns ms */
  end(): Promise<number>;
  /** Asks `/healthz` all the time until it is stopped. @returns how to, which gives the longest ms */
  watchHealth(): () => Promise<number>;
  close(): Promise<void>;
}

/** Where it takes longer, it is said to have taken so long. */
export const patienceMs = 120_000;
const projects = { acme: 'acme-signs', globex: 'globex-signs' };

type Customer = Awaited<ReturnType<typeof openCustomer>>;

export async function openWorld(base: string): Promise<World> {
  const folder = mkdtempSync(path.join(path.resolve(base), '.bench-'));
  const sandbox = createSandbox({ seed: 'bench', payloads: 'minimal' });
  const { baseUrl } = await sandbox.start();
  const acme = await openCustomer(sandbox, baseUrl, projects.acme);
  const globex = await openCustomer(sandbox, baseUrl, projects.globex);
  const rosterFile = path.join(folder, 'roster.json');
  const configFile = writeConfig(folder, baseUrl, { acme, globex });
  const bridge = spawn(process.execPath, ['src/main.ts', 'start', '--config', configFile], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const { receiverUrl, consoleUrl } = await untilRunning(bridge);
  await globex.moveEndpoint(`${receiverUrl}/webhooks/globex`);
  const hired: { contract: string; trainer: string }[] = [];

  async function untilListed(trainer: string, isIn: boolean): Promise<number> {
    const begunAt = performance.now();
    const isListed = () => listRoster(rosterFile).includes(`${projects.globex}/${trainer}`);
    while (isListed() !== isIn && performance.now() - begunAt < patienceMs) await wait(5);
    return performance.now() - begunAt;
  }

  return {
    async forge(body) {
      const signature = sign(body, acme.secret, Math.floor(Date.now() / 1000));
      const headers = {
        'content-type': 'application/json',
        'x-opentrain-signature': signature,
      };
      const url = `${receiverUrl}/webhooks/acme`;
      const answer = await fetch(url, { method: 'POST', headers, body });
      await answer.arrayBuffer();
    },
    async hire() {
      const { contractId, trainers } = sandbox.hire({ jobId: globex.jobId });
      const trainer = trainers[0]?.opentrainUserId ?? '';
      hired.push({ contract: contractId, trainer });
      return await untilListed(trainer, true);
    },
    async end() {
      const oldest = hired.shift();
      if (oldest === undefined) throw new Error('nobody is hired');
      sandbox.endContract(oldest.contract);
      return await untilListed(oldest.trainer, false);
    },
    watchHealth: () => watch(`${consoleUrl}/healthz`),
    async close() {
      bridge.kill();
      await once(bridge, 'exit');
      await sandbox.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function openCustomer(sandbox: Sandbox, baseUrl: string, externalProjectId: string) {
  const { installId, token } = sandbox.createInstall();
  const { id: jobId } = sandbox.createJob({ installId });
  async function api(method: string, where: string, body: object) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${baseUrl}${where}`, { method, headers, body: JSON.stringify(body) });
    return (await answer.json()) as { webhookEndpoint: { id: string }; secret: string };
  }
  await api('POST', '/project-links', { externalProjectId, jobId });
  const somewhere = { url: 'http://127.0.0.1:9/', eventTypes: platformEventTypes };
  const { webhookEndpoint, secret } = await api('POST', '/webhook-endpoints', somewhere);
  return {
    jobId,
    token,
    secret,
    moveEndpoint: (url: string) => api('PATCH', `/webhook-endpoints/${webhookEndpoint.id}`, { url }),
  };
}

function writeConfig(folder: string, baseUrl: string, customers: Record<string, Customer>): string {
  const toInstall = ([name, { token, secret }]: [string, Customer]) => [
    name,
    { token, webhookSecrets: [secret], tool: 'list', projects: [`${name}-*`] },
  ];
  const config = {
    receiver: { host: '127.0.0.1', port: 0, drain: '0s' },
    console: { port: 0 },
    database: { url: 'sqlite:./gangway.db' },
    marketplace: { baseUrl },
    reconcile: { schedule: '0 0 29 2 *' },
    installs: Object.fromEntries(Object.entries(customers).map(toInstall)),
    tools: { list: { adapter: 'roster', path: './roster.json' } },
    removals: { max: 100_000, maxFraction: 1 },
  };
  const file = path.join(folder, 'gangway.config.json');
  writeFileSync(file, JSON.stringify(config));
  return file;
}

async function untilRunning(bridge: ChildProcess) {
  const { stderr } = bridge;
  if (stderr === null) throw new Error('the log of the bridge cannot be read');
  const lines = createInterface({ input: stderr });
  return await new Promise<{ receiverUrl: string; consoleUrl: string }>((resolve, reject) => {
    bridge.once('exit', () => reject(new Error('the bridge has ended')));
    lines.on('line', (line) => {
      if (line.includes('Gangway is running')) resolve(JSON.parse(line));
    });
  });
}

function watch(url: string): () => Promise<number> {
  let isOver = false;
  let longest = 0;
  const watching = (async () => {
    while (!isOver) {
      const begunAt = performance.now();
      await (await fetch(url)).arrayBuffer();
      longest = Math.max(longest, performance.now() - begunAt);
      await wait(10);
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return longest;
  };
}
