import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Adapter } from '../../../src/adapters/adapter.ts';
import { loadAdapters } from '../../../src/adapters/load-adapters.ts';
import { createApp } from '../../../src/app/app.ts';
import { openStorage } from '../../../src/app/storage.ts';
import { Config } from '../../../src/config/config-schema.ts';
import { inTransaction } from '../../../src/db/database.ts';
import { countDueDeliveries } from '../../../src/inbox/inbox-store.ts';
import {
  acmeSecret,
  type BridgeSetup,
  openIdleMarketplace,
  secretKey,
  startBridge,
  writeBridgeConfig,
} from '../../support/bridge-process.ts';
import { openBridgeState } from '../../support/bridge-state.ts';
import { describeEachDialect, postgres } from '../../support/databases.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { createFolder } from '../../support/folder.ts';
import { hardlyEver, openJourney } from '../../support/journey.ts';
import { minutesAgo, toBody } from '../../support/lifecycle-events.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { pollMs } from '../../support/poll-ms.ts';
import { createRandom } from '../../support/random.ts';
import { listRoster } from '../../support/roster.ts';
import { createSender } from '../../support/sender.ts';
import { startTraffic } from '../../support/traffic.ts';
import { until } from '../../support/until.ts';

/** More than the traffic has: an alert of the brake would be one of trouble. */
const removals = { max: 100_000, maxFraction: 1 };
const leaseMs = 30_000;
/** Longer than any loop rests, so that one which could act would have. */
const longerThanPollMs = 5 * pollMs;
/** By how much PostgreSQL's clock may be ahead of the test's, which stands still. */
const marginMs = 5000;
/** How well an instance knows PostgreSQL's clock when this machine is busy. */
const clockErrorMs = 1000;

const hired = {
  type: 'contract.started',
  number: 1,
  contract: 'ctr1',
  trainer: 'usr1',
  project: 'street-signs',
  createdAt: minutesAgo(1),
} as const;

/** A contract that the traffic does not have: it does not end. */
const lasting = { ...hired, number: 0, contract: 'ctr-lasting', trainer: 'usr-lasting' } as const;

/** A SQLite file takes one instance. */
it('an instance leaves alone what another one has leased', async () => {
  const setup = writeBridgeConfig(createFolder(), await postgres.createMigrated());
  const now = new Date().toISOString();
  const hanging = createSilentTool();
  const app = await startInProcess(setup, createFakeClock(now), { adapter: hanging.adapter });
  await createSender(acmeSecret, 1).send(app, toBody(hired), 'one');
  await until('it is at work', hanging.countCalls, (calls) => calls === 1);

  const [clock, other] = [createFakeClock(now), createSilentTool()];
  await startInProcess(setup, clock, { adapter: other.adapter });
  await wait(longerThanPollMs);
  clock.advance(leaseMs - marginMs);
  await wait(longerThanPollMs);
  expect(other.countCalls()).toBe(0);
  clock.advance(marginMs + clockErrorMs);
  await until('it is taken over', other.countCalls, (calls) => calls === 1);
});

describeEachDialect('stopping and starting', (dialect) => {
  it('ends with status 0 under load, and keeps everything it has confirmed', async () => {
    const databaseUrl = await dialect.createMigrated();
    // With no contract in its list, an end under load would have the list doubted, with a warning.
    const marketplace = await openIdleMarketplace([lasting]);
    const setup = writeBridgeConfig(createFolder(), databaseUrl, marketplace, { removals });
    const state = openBridgeState(setup.databaseUrl);
    const bridge = await startBridge(setup);
    expect(await createSender(acmeSecret, 1).send(bridge.url, toBody(lasting), 'one')).toMatchObject({ status: 200 });
    const traffic = startTraffic(createRandom(1), bridge.url);
    await until(
      'there is load',
      () => traffic.answered.size,
      (size) => size > 50,
    );

    const beganAt = performance.now();
    expect(await bridge.stop()).toBe(0);
    // Connections that are never idle are not waited for without end.
    expect(performance.now() - beganAt).toBeLessThan(60_000);
    const answered = traffic.answered.size;
    await until('it is gone', traffic.countFailed, (failed) => failed > 5);
    expect(traffic.answered.size).toBe(answered);
    await traffic.stop();

    const bodies = new Set((await state.stored()).map(({ body }) => body));
    expect([...traffic.answered].filter((body) => !bodies.has(body))).toEqual([]);
    expect(bridge.log().filter(({ level }) => level !== 'info')).toEqual([]);
    expect(bridge.log().map(({ msg }) => msg)).toContain('Gangway has stopped');

    // It left no lease behind: the next one goes on at once. What it was asking a tool when it was
    // stopped can no longer arrive: this is half a minute later, without the waiting.
    const now = new Date().toISOString();
    const { kysely } = state.database;
    const asked = kysely.updateTable('membership').where('lateUntil', '>', now);
    await asked.set({ lateUntil: now, nextAttemptAt: now }).execute();
    const next = await startBridge(setup);
    // Where that look does not find a person, it is repeated in a minute: it has passed here too.
    await state.settled(async () => {
      const minuteAgo = minutesAgo(1);
      const isMissed = sql<boolean>`missed_at > ${minuteAgo} and late_until is not null and leased_until is null`;
      const missed = await kysely.selectFrom('membership').select('id').where(isMissed).execute();
      if (missed.length === 0) return;
      const times = { missedAt: minuteAgo, nextAttemptAt: new Date().toISOString() };
      await inTransaction(state.database, (tx) => tx.updateTable('membership').set(times).where(isMissed).execute());
    });
    expect(await next.stop()).toBe(0);
  });

  it('takes over from a killed process, on PostgreSQL once its leases have expired', async () => {
    const setup = writeBridgeConfig(createFolder(), await dialect.createMigrated());
    const state = openBridgeState(setup.databaseUrl);
    // A file that no process writes to: the bridge that reads it waits, and holds the claim meanwhile.
    execFileSync('/usr/bin/mkfifo', [setup.rosterFile]);
    const bridge = await startBridge(setup);
    const sender = createSender(acmeSecret, 1);
    expect(await sender.send(bridge.url, toBody(hired), 'one')).toMatchObject({ status: 200 });
    const { kysely } = state.database;
    const membership = kysely.selectFrom('membership').selectAll();
    const claimed = await until(
      'it is claimed',
      () => membership.executeTakeFirst(),
      (row) => Boolean(row?.leaseToken),
    );
    await bridge.kill();
    const killedAt = Date.now();
    const lock = await kysely.selectFrom('namedLock').selectAll().executeTakeFirstOrThrow();
    const leases = [lock.leasedUntil, claimed?.leasedUntil ?? ''].map((at) => Date.parse(at));
    const longestLeaseMs = Math.max(...leases) - killedAt;
    expect(longestLeaseMs).toBeGreaterThan(leaseMs / 2);
    expect(longestLeaseMs).toBeLessThanOrEqual(leaseMs + clockErrorMs);
    rmSync(setup.rosterFile);

    const clock = createFakeClock(new Date(killedAt).toISOString());
    const expectUntouched = async () => {
      await wait(longerThanPollMs);
      const { leaseToken } = claimed ?? {};
      expect(await membership.executeTakeFirst()).toMatchObject({ leaseToken });
      expect(listRoster(setup.rosterFile)).toEqual([]);
    };
    await startInProcess(setup, clock);
    // On SQLite the file itself tells that it is dead.
    if (dialect.name === 'postgres') {
      await expectUntouched();
      clock.advance(longestLeaseMs - marginMs);
      await expectUntouched();
      clock.advance(marginMs);
    }
    await until(
      'it is retaken',
      () => listRoster(setup.rosterFile),
      (list) => list.length > 0,
    );
    expect(listRoster(setup.rosterFile)).toEqual(['street-signs/usr1']);
  });

  it('repeats the reading of a killed process', async () => {
    const marketplace = await openSilentMarketplace();
    const folder = createFolder();
    const setup = writeBridgeConfig(folder, await dialect.createMigrated(), marketplace.url);
    const state = openBridgeState(setup.databaseUrl);
    const bridge = await startBridge(setup);
    const incomplete = JSON.stringify({ type: 'contract.started', resourceId: 'ctr1', data: {} });
    await createSender(acmeSecret, 1).send(bridge.url, incomplete, 'one');
    await until('it asks', marketplace.countRequests, (count) => count === 1);
    await bridge.kill();

    const killedAt = Date.now();
    const { leasedUntil } = await state.database.kysely
      .selectFrom('job')
      .select('leasedUntil')
      .where('kind', '=', 'contracts')
      .executeTakeFirstOrThrow();
    expect(Date.parse(leasedUntil ?? '') - killedAt).toBeLessThanOrEqual(leaseMs + clockErrorMs);

    const clock = createFakeClock(new Date(killedAt).toISOString());
    await startInProcess(setup, clock, { marketplaceUrl: marketplace.url });
    if (dialect.name === 'postgres') {
      await wait(longerThanPollMs);
      expect(marketplace.countRequests()).toBe(1);
      clock.advance(leaseMs + clockErrorMs);
    }
    await until('it asks anew', marketplace.countRequests, (count) => count === 2);
  });
});

describe('stopping', () => {
  it('answers until the engine has stopped', async () => {
    const journey = await openJourney(postgres, { adapter: createSilentTool().adapter });
    const { storage, app, receiverUrl } = journey;
    await journey.deliver(toBody(hired));
    const claimed = () => journey.memberships();
    await until('it is claimed', claimed, ([membership]) => Boolean(membership?.leaseToken));

    // The engine cannot give its claim back while another transaction holds the row.
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: isHeld, resolve: held } = Promise.withResolvers<void>();
    const holding = inTransaction(storage.database, async (tx) => {
      await tx.selectFrom('membership').selectAll().forUpdate().execute();
      held();
      await released;
    });
    await isHeld;
    let hasStopped = false;
    const stopped = app.stop().then(() => {
      hasStopped = true;
    });
    await wait(300);
    const late = await journey.deliver(toBody({ ...hired, number: 2, contract: 'ctr2' }));
    expect(late).toMatchObject({ status: 200, body: { status: 'accepted' } });
    expect(hasStopped).toBe(false);

    release();
    await Promise.all([holding, stopped]);
    await expect(fetch(`${receiverUrl}/healthz`)).rejects.toThrow('fetch failed');
    expect(await journey.memberships()).toMatchObject([{ leaseToken: null, state: 'pending' }]);
    expect(await countDueDeliveries(storage)).toBe(1);
  });
});

interface InProcessOptions {
  marketplaceUrl?: string;
  /** Instead of the roster. */
  adapter?: Adapter;
}

/**
 * An instance beside others, with a time of its own.
 *
 * @returns where deliveries go
 */
async function startInProcess(
  { databaseUrl, rosterFile }: BridgeSetup,
  clock: FakeClock,
  { marketplaceUrl = 'http://127.0.0.1:9/api/partner/v1', adapter }: InProcessOptions = {},
): Promise<string> {
  const storage = await openStorage(databaseUrl, secretKey);
  onTestFinished(() => storage.database.close());
  const config = Config.parse({
    receiver: { host: '127.0.0.1', port: 0, drain: '0s' },
    console: { port: 0 },
    marketplace: { baseUrl: marketplaceUrl },
    installs: { acme: { token: 'ot_ptk_acme', webhookSecrets: [acmeSecret], tool: 'list' } },
    tools: { list: { adapter: 'roster', path: rosterFile } },
    reconcile: { schedule: hardlyEver },
  });
  const app = createApp({
    config,
    storage,
    clock,
    logger: createLogLines().logger,
    adapters: adapter ? new Map([['list', adapter]]) : await loadAdapters(config),
    pollMs,
    hasThreads: false,
  });
  onTestFinished(() => app.stop());
  const { receiverUrl } = await app.start();
  return `${receiverUrl}/webhooks/acme`;
}

/** A marketplace that takes requests and never answers. */
async function openSilentMarketplace() {
  let requests = 0;
  const server = createServer(() => {
    requests += 1;
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/api/partner/v1`, countRequests: () => requests };
}

/** A tool that takes calls and never answers. */
function createSilentTool(): { adapter: Adapter; countCalls(): number } {
  let calls = 0;
  const silence = () => {
    calls += 1;
    return new Promise<never>(() => undefined);
  };
  const adapter: Adapter = {
    capabilities: { removal: { effect: 'locks_out' }, readding: 'yes', exclusive: 'membership' },
    groupFor: ({ externalProjectId }) => externalProjectId,
    check: silence,
    findMember: silence,
    addMember: silence,
    removeMember: silence,
  };
  return { adapter, countCalls: () => calls };
}
