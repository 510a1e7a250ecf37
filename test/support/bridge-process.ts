import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { programFile } from './built-program.ts';
import { type ContractEvent, jobOf, linkOf } from './lifecycle-events.ts';
import { createWaitEnder } from './until.ts';

/** A real `gangway start` in a process of its own, which ends with the test. */
export interface LaunchedBridge {
  /** Resolves when it listens and its engine runs; never where it is killed before. */
  ready: Promise<BridgeProcess>;
  /** Ends it as a power cut would, and resolves when it is gone. */
  kill(): Promise<void>;
}

export interface BridgeProcess {
  /** Where deliveries for the install `acme` go. */
  url: string;
  /** Where its operator's listener is. */
  consoleUrl: string;
  pid: number;
  /** What it has logged so far, a line each. */
  log(): Record<string, unknown>[];
  /** Asks it to stop, and gives its exit status when it has. */
  stop(): Promise<number | null>;
  kill(): Promise<void>;
}

export interface BridgeSetup {
  configFile: string;
  rosterFile: string;
  databaseUrl: string;
  /** What to run instead of the bundled program. */
  program?: string;
  /** Further arguments. */
  args?: string[];
}

/** Any, as long as every process of a test has the same. */
export const secretKey = Buffer.alloc(32, 7);
export const acmeSecret = 'whsec_c2VjcmV0LW9mLWFjbWU';

/** No server listens there, because the events have what most of these journeys need. */
const noMarketplace = 'http://127.0.0.1:9/api/partner/v1';

/**
 * A marketplace in which nothing happens: what an end is held against.
 *
 * @param active of the contracts whose events a bridge gets. Without any, a bridge that knows of one doubts the list.
 */
export async function openIdleMarketplace(active: readonly ContractEvent[] = []): Promise<string> {
  const contracts = active.map(({ contract: id, project }) => ({
    id,
    status: 'active',
    projectLinkIds: [linkOf(project)],
    jobId: jobOf(project),
  }));
  const answers: ReadonlyMap<string, object> = new Map<string, object>([
    ['/installs/current', { install: { id: 'cmi1', status: 'ACTIVE', scopes: [] } }],
    ['/contracts', { contracts }],
    ...active.map((event) => [`/contracts/${event.contract}/participants`, toParticipants(event)] as const),
  ]);
  const server = createServer((incoming, outgoing) => {
    const [path = ''] = incoming.url?.split('?') ?? [];
    const body = answers.get(path);
    outgoing.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    outgoing.end(JSON.stringify(body ?? { error: 'There is none', code: 'NOT_FOUND' }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function toParticipants({ contract, trainer }: ContractEvent): object {
  const participant = { opentrainUserId: trainer, displayName: 'Amara O.', workEmail: `${trainer}@opentrain.work` };
  return { contractId: contract, participants: [participant] };
}

/** Writes the configuration of a bridge between the install `acme` and a roster. */
export function writeBridgeConfig(
  folder: string,
  databaseUrl: string,
  marketplaceUrl = noMarketplace,
  changes: object = {},
): BridgeSetup {
  const configFile = path.join(folder, 'gangway.config.json');
  const rosterFile = path.join(folder, 'roster.json');
  const config = {
    receiver: { host: '127.0.0.1', port: 0, drain: '0s' },
    console: { port: 0 },
    database: { url: { env: 'DATABASE_URL' } },
    marketplace: { baseUrl: marketplaceUrl },
    // Else what a test sees would depend on the minute it runs in.
    reconcile: { schedule: '0 0 29 2 *' },
    installs: {
      acme: {
        token: { env: 'ACME_TOKEN' },
        webhookSecrets: [{ env: 'ACME_SECRET' }],
        tool: 'list',
      },
    },
    tools: { list: { adapter: 'roster', path: rosterFile } },
    ...changes,
  };
  writeFileSync(configFile, JSON.stringify(config));
  return { configFile, rosterFile, databaseUrl };
}

/** @throws Error with its log when it ends instead */
export async function startBridge(setup: BridgeSetup): Promise<BridgeProcess> {
  return await launchBridge(setup).ready;
}

export function launchBridge(setup: BridgeSetup): LaunchedBridge {
  const child = spawnBridge(setup);
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const endWaits = createWaitEnder();
  let isToEnd = false;
  const kill = async () => {
    isToEnd = true;
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  const log = collectLog(child);

  async function toRunning(): Promise<BridgeProcess> {
    const running = await log.waitFor('Gangway is running');
    void ended.then(([status]) => {
      if (!isToEnd) endWaits(new Error(`a bridge ended with ${status}: ${log.text()}`));
    });
    return {
      url: `${String(running['receiverUrl'])}/webhooks/acme`,
      consoleUrl: String(running['consoleUrl']),
      pid: child.pid ?? 0,
      log: log.lines,
      async stop() {
        isToEnd = true;
        child.kill('SIGTERM');
        const [status] = await ended;
        return status;
      },
      kill,
    };
  }

  async function failWhenEnded(): Promise<never> {
    const [status] = await ended;
    if (status === null) return await new Promise(() => undefined);
    throw new Error(`gangway start ended with ${status}: ${log.text()}`);
  }

  return { ready: Promise.race([toRunning(), failWhenEnded()]), kill };
}

function spawnBridge({ configFile, databaseUrl, program = programFile, args = [] }: BridgeSetup): ChildProcess {
  return spawn(process.execPath, [program, 'start', '--config', configFile, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: environmentOf(databaseUrl),
  });
}

/** Nothing of the environment of the tests: its GANGWAY_* would be part of the configuration. */
export function environmentOf(databaseUrl: string): Record<string, string> {
  return {
    ACME_TOKEN: 'ot_ptk_acme',
    ACME_SECRET: acmeSecret,
    DATABASE_URL: databaseUrl,
    GANGWAY_SECRET_KEY: secretKey.toString('base64'),
    // Much of a start is compiling; a process that ends in peace leaves what it compiled to the next.
    NODE_COMPILE_CACHE: path.resolve('node_modules', '.cache', 'gangway'),
  };
}

type Line = Record<string, unknown>;

/** The log, read as it comes; lines of something else than the logger are kept as text. */
function collectLog(child: ChildProcess) {
  let rest = '';
  const lines: Line[] = [];
  const waiting = new Map<string, (line: Line) => void>();
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const line = toLine(part);
      lines.push(line);
      waiting.get(String(line['msg']))?.(line);
    }
  });
  return {
    lines: () => lines,
    text: () => [...lines.map((line) => JSON.stringify(line)), rest].join('\n'),
    waitFor: (message: string) =>
      new Promise<Line>((resolve) => {
        waiting.set(message, resolve);
      }),
  };
}

function toLine(text: string): Line {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return { text };
  }
}
