import { openDatabase } from '../../src/db/open-database.ts';
import { digestOf } from '../../src/inbox/body-key.ts';
import { type Bridge, openBridge, openFolder } from './bridge.ts';
import { clockwork } from './clockwork.ts';
import type { Market } from './market.ts';
import type { ModelTool } from './model-tool.ts';
import { type Customer, customers } from './plan.ts';

/** What stands between the marketplace and the tool: the instances of Gangway, or a rival (rival.ts). */
export interface Fleet {
  /** When the last reading of a customer began of which it knows. */
  readBeganMs(customer: Customer): Promise<number>;
  /** The digests of the bodies that are stored. */
  listStored(): Promise<Set<string>>;
  /** A person lets all pass that is held. @returns how many decisions that took */
  approveAll(): Promise<number>;
  /** What came in between is not in the database: it was put back later, from a copy made then. */
  forgotten(): { fromMs: number; untilMs: number };
  /** Ends whatever runs, does something meanwhile, and starts again after so long. */
  restart(downMs: number, meanwhile?: () => Promise<void>): Promise<void>;
  /** Starts where nothing runs, however often that takes. */
  start(): Promise<void>;
  runSecond(forMs: number): Promise<void>;
  /** Keeps a copy of the database, and puts it back after so long. */
  restore(afterMs: number): Promise<void>;
  setAhead(ms: number): void;
  /** A customer delivers whatever they like, rightly signed. */
  deliverTo(customer: Customer, body: string, signature: string): Promise<void>;
  close(): Promise<void>;
}

export interface FleetSettings {
  market: Market;
  tool: ModelTool;
  hasBrake: boolean;
  /** Whether all addresses of the marketplace are known as its own. */
  isManaged: boolean;
  /** Other secrets of a customer, beside that of their webhook. */
  secrets: Partial<Record<Customer, string>>;
  diskFault(): Error | undefined;
  log(line: string): void;
}

const minuteMs = 60_000;
const apiToken = 'otto-may-do-everything';
const ports = { receiver: 8787, console: 8788 };

export function webhookUrlOf(customer: Customer): string {
  return `http://127.0.0.1:${ports.receiver}/webhooks/${customer}`;
}

export async function openFleet(settings: FleetSettings): Promise<Fleet> {
  const { tool, log } = settings;
  const folder = await openFolder();
  let file = folder.create();
  let observer = openDatabase(`sqlite:${file}`);
  let first: Bridge | null = null;
  let second: Bridge | null = null;
  let started = 0;
  let aheadMs = 0;
  let forgotten = { fromMs: 0, untilMs: 0 };

  async function open(isFirst: boolean): Promise<Bridge | null> {
    started += 1;
    const name = `gangway ${started}`;
    try {
      return await openBridge({
        name,
        file,
        config: configOf(settings, isFirst),
        adapters: new Map([['studio', tool.adapter]]),
        aheadMs,
        diskFault: settings.diskFault,
        onLog: (line) => log(`  ${name}: ${line.trim()}`),
      });
    } catch (error) {
      log(`${name} could not start: ${String(error)}`);
      return null;
    }
  }

  async function start(): Promise<void> {
    while (first === null) {
      first = await open(true);
      if (first === null) await clockwork.wait(minuteMs);
    }
  }

  async function killAll(): Promise<void> {
    for (const bridge of [first, second]) await bridge?.kill();
    first = null;
    second = null;
  }

  async function restart(downMs: number, meanwhile?: () => Promise<void>): Promise<void> {
    await killAll();
    await meanwhile?.();
    if (downMs > 0) await clockwork.wait(downMs);
    await start();
  }

  /** All of it is in the file once no process has it open. */
  async function copy(): Promise<string> {
    await observer.close();
    const kept = folder.copy(file);
    observer = openDatabase(`sqlite:${file}`);
    return kept;
  }

  async function putBack(kept: string, keptAtMs: number): Promise<void> {
    log('the database is put back from a backup');
    await observer.close();
    file = kept;
    observer = openDatabase(`sqlite:${file}`);
    forgotten = { fromMs: keptAtMs, untilMs: clockwork.nowMs() };
  }

  await start();
  return {
    async readBeganMs(customer) {
      const states = observer.kysely.selectFrom('installState').select('readBeganAt');
      const state = await states.where('install', '=', customer).executeTakeFirst();
      return Date.parse(state?.readBeganAt ?? '1970-01-01');
    },
    async listStored() {
      const rows = await observer.kysely.selectFrom('delivery').select('bodySha256').execute();
      return new Set(rows.map(({ bodySha256 }) => digestOf(bodySha256).toString('hex')));
    },
    async approveAll() {
      const open = await observer.kysely.selectFrom('plan').select('id').where('decidedAt', 'is', null).execute();
      for (const { id } of open) {
        log(`an operator approves plan ${id}`);
        const url = `http://127.0.0.1:${ports.console}/api/v1/plans/${id}/approve`;
        await post(url, '{}', { authorization: `Bearer ${apiToken}` });
      }
      return open.length;
    },
    forgotten: () => forgotten,
    restart,
    start,
    async runSecond(forMs) {
      if (second !== null) return;
      const opened = await open(false);
      second = opened;
      await clockwork.wait(forMs);
      if (second !== opened) return;
      second = null;
      await opened?.kill();
    },
    async restore(afterMs) {
      let kept = '';
      const keptAtMs = clockwork.nowMs();
      await restart(0, async () => {
        kept = await copy();
      });
      await clockwork.wait(afterMs);
      await restart(minuteMs, () => putBack(kept, keptAtMs));
    },
    setAhead(ms) {
      aheadMs = ms;
    },
    async deliverTo(customer, body, signature) {
      await post(webhookUrlOf(customer), body, { 'x-opentrain-signature': signature });
    },
    async close() {
      await killAll();
      await observer.close();
      folder.remove();
    },
  };
}

/** Whoever is asked may be gone. */
async function post(url: string, body: string, headers: Record<string, string>): Promise<void> {
  const signal = AbortSignal.timeout(90_000);
  const all = { 'content-type': 'application/json', ...headers };
  await fetch(url, { method: 'POST', headers: all, body, signal }).catch(() => undefined);
}

function configOf({ market, hasBrake, isManaged, secrets }: FleetSettings, isFirst: boolean): object {
  const { baseUrl, employerBaseUrl } = market.addresses;
  return {
    receiver: {
      host: '127.0.0.1',
      port: isFirst ? ports.receiver : 0,
      drain: '0s',
      publicUrl: `http://127.0.0.1:${ports.receiver}`,
    },
    console: {
      host: '127.0.0.1',
      port: isFirst ? ports.console : 0,
      tokens: { otto: { token: apiToken, role: 'operator' } },
    },
    marketplace: { baseUrl, employerBaseUrl, managedDomains: isManaged ? ['opentrain.work'] : [] },
    reconcile: { schedule: '*/30 * * * *' },
    removals: hasBrake ? { max: 5, maxFraction: 0.3 } : { max: 1000, maxFraction: 1 },
    tools: { studio: { adapter: 'roster', path: '/nowhere' } },
    installs: Object.fromEntries(
      customers.map((customer) => {
        const webhookSecrets = [market.secretOf(customer), ...[secrets[customer] ?? []].flat()];
        return [customer, { ...installOf(market, customer), webhookSecrets }];
      }),
    ),
  };
}

function installOf(market: Market, customer: Customer): object {
  const install = { token: market.tokenOf(customer), tool: 'studio', projects: [`${customer}-*`] };
  if (customer !== 'own') return install;
  const jobs = Object.fromEntries(market.jobsOf(customer).map(({ id, project }) => [id, project]));
  return { ...install, source: 'employer', jobs };
}
