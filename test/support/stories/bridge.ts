import { randomUUID } from 'node:crypto';
import type { Adapter } from '../../../src/adapters/adapter.ts';
import { createLoops } from '../../../src/app/loops.ts';
import { createServices, type Services, type ServicesDeps } from '../../../src/app/services.ts';
import { openStorage, type Storage } from '../../../src/app/storage.ts';
import { wantPaymentsRead } from '../../../src/budget/payment-store.ts';
import { Config } from '../../../src/config/config-schema.ts';
import { convergeLeaseMs, createClaimStore } from '../../../src/converge/claim-store.ts';
import { convergeMembership } from '../../../src/converge/converge-membership.ts';
import { usualSecondLookMs } from '../../../src/converge/converge-steps.ts';
import { createSettleStore } from '../../../src/converge/settle-store.ts';
import type { NewDelivery } from '../../../src/domain/delivery.ts';
import { toAppError } from '../../../src/domain/errors.ts';
import { createIntakeWorker } from '../../../src/evidence/intake-worker.ts';
import { createInbox } from '../../../src/inbox/inbox.ts';
import { bindSource } from '../../../src/installs/bind-source.ts';
import { createBindingStore } from '../../../src/installs/binding-store.ts';
import { type Install, ofPlatform } from '../../../src/installs/install.ts';
import type { InstallRegistry } from '../../../src/installs/install-registry.ts';
import { createTokensInUse } from '../../../src/installs/tokens-in-use.ts';
import { instantIn, toInstant } from '../../../src/lib/clock.ts';
import { lastTick } from '../../../src/lib/last-tick.ts';
import { createLogger } from '../../../src/lib/logger.ts';
import type { Loop } from '../../../src/lib/loop.ts';
import { createMetrics } from '../../../src/lib/metrics.ts';
import { restBesideOthers } from '../../../src/lib/rest.ts';
import { createInstallsReaching } from '../../../src/memberships/link-router.ts';
import { approvePlan } from '../../../src/operator/approve-plan.ts';
import { createReadWorker } from '../../../src/reconcile/read/read-worker.ts';
import { createActiveListStore, wantLists } from '../../../src/reconcile/runs/active-list-store.ts';
import { answerList } from '../../../src/reconcile/runs/active-list-worker.ts';
import { reconcileNext } from '../../../src/reconcile/runs/reconcile-install.ts';
import { createScheduleWorker } from '../../../src/reconcile/runs/schedule-worker.ts';
import { withSilenceCheck } from '../../../src/reconcile/runs/silence.ts';
import { createAwaitedReadingStore } from '../../../src/removals/awaited-reading-store.ts';
import { createFinalReadingStore } from '../../../src/removals/final-reading-store.ts';
import { createPlanStore, type PlanStore } from '../../../src/removals/plan-store.ts';
import { brakeDue } from '../../../src/removals/removal-worker.ts';
import type { Source } from '../../../src/sources/source.ts';
import { bindTool, locationOf } from '../../../src/tools/bind-tool.ts';
import { type FakeClock, toDatabaseClock } from '../fake-clock.ts';
import { projects } from './market.ts';
import type { MarketApi } from './market-api.ts';
import { runOf } from './story-tool.ts';

/**
 * The bridge as `app.ts` wires it, over a database of the test's own, but that its loops are not left
 * to run by themselves: each turn does what they would do in a minute, one thing after the other.
 */
export interface StoryBridge {
  /** Stores deliveries, as the receiver would. */
  receive(deliveries: NewDelivery[]): Promise<void>;
  /** Does all that is due. */
  turn(): Promise<void>;
  /** Is there, and does nothing else. */
  beat(): Promise<void>;
  /** Has an install read, as `gangway reconcile` would. */
  wantRead(installs: string[]): Promise<void>;
  /** Approves all plans of these installs, as an operator would. */
  approve(installs: ReadonlySet<string>): Promise<void>;
  /** Who is said to be removed, as `group/trainer`. */
  saidRemoved(): Promise<string[]>;
  /** What was logged as an error. */
  errors: string[];
  close(): Promise<void>;
}

export interface BridgeSetup {
  url: string;
  key: Buffer;
  clock: FakeClock;
  adapter: Adapter;
  /** By the name of the install. */
  apis: ReadonlyMap<string, MarketApi>;
  readEveryMin: number;
  isBraked: boolean;
  /** As configured. */
  toolUrl: string;
}

const signal = new AbortController().signal;
/** One for all, as each watches the process. */
const metrics = createMetrics();

/**
 * @param start how it comes up: after it was down, and maybe with a database from a backup; left out
 * where it only goes on
 */
export async function openBridge(setup: BridgeSetup, start?: { isRestored: boolean }): Promise<StoryBridge> {
  const { url, key, clock } = setup;
  const storage = await openStorage(url, key);
  const errors: string[] = [];
  const deps = toDeps(setup, storage, errors);
  if (start !== undefined) {
    const inbox = createInbox({ append: storage.inbox.append, onAppended: () => undefined });
    await createLoops({ ...deps, inbox, wouldDefer: async () => undefined }).prepare({
      acceptsOrphans: true,
      isRestored: start.isRestored,
    });
  }
  const services = createServices(deps);
  const turn = createTurn(deps, services);
  const plans = createPlanStore(storage.database);
  return {
    errors,
    turn,
    beat: async () => void (await services.silence.check()),
    receive: async (deliveries) => void (await storage.inbox.append(deliveries)),
    wantRead: (installs) =>
      storage.database.kysely
        .transaction()
        .execute((tx) => services.installStates.wantRead(tx, installs, toInstant(clock.now()))),
    async approve(installs) {
      const open = await plans.list({ state: 'open' });
      const ours = open.filter(({ install }) => installs.has(install));
      for (const { id } of ours) await approve(services, plans, id);
    },
    async saidRemoved() {
      const rows = await storage.database.kysely
        .selectFrom('membership')
        .select(['groupId', 'trainerId', 'state'])
        .execute();
      const seats = Map.groupBy(rows, ({ groupId, trainerId }) => `${groupId}/${trainerId}`);
      return [...seats].flatMap(([seat, ones]) => (ones.every(({ state }) => state === 'removed') ? [seat] : []));
    },
    async close() {
      await services.alertsStored();
      await storage.database.close();
    },
  };
}

/** Where the marketplace cannot be asked, nothing is approved. */
async function approve(services: Services, plans: PlanStore, id: number): Promise<void> {
  const by = { actor: 'an operator', at: toInstant(services.clock.now()) };
  const patience = { waitMs: 0, signal, onProgress: () => undefined };
  // Another process does what is approved: this one goes on with its turn.
  const deps = { ...services, plans, by, loops: [] };
  try {
    await approvePlan(deps, id, [...services.installs.keys()], { patience });
  } catch (error) {
    if (toAppError(error).code !== 'unavailable') throw error;
  }
}

function toDeps(
  { clock, adapter, apis, readEveryMin, isBraked, toolUrl }: BridgeSetup,
  storage: Storage,
  errors: string[],
): ServicesDeps {
  const installs = new Map(
    [...apis.keys()].map((name): [string, Install] => [
      name,
      {
        token: `token of ${name}`,
        ...ofPlatform,
        webhookSecrets: [],
        tool: 'studio',
        livesIn: 'database',
        // None reaches the groups of another story, and so none waits for its customers.
        projects: projects.map((project) => project + runOf(name)),
      },
    ]),
  );
  const registry: InstallRegistry = {
    installs,
    sources: bindAll(apis, storage),
    tokens: createTokensInUse(storage.database, storage.box),
    openSource() {
      throw new Error('No story connects a customer');
    },
    openWith() {
      throw new Error('No story rotates a token');
    },
    load: async () => [],
  };
  const destination = { write: (line: string) => void errors.push(line) };
  return {
    storage,
    registry,
    metrics,
    clock: toDatabaseClock(clock),
    logger: createLogger({ level: 'error', destination }),
    adapters: new Map([['studio', adapter]]),
    config: Config.parse({
      marketplace: { managedDomains: ['opentrain.work'] },
      tools: { studio: { adapter: 'given', url: toolUrl } },
      removals: isBraked ? { max: 1 } : { max: 1_000_000, maxFraction: 1 },
      reconcile: { schedule: `0 */${readEveryMin / 60} * * *` },
    }),
  };
}

/** As the registry of installs binds them, and anew where another token is configured. */
function bindAll(apis: ReadonlyMap<string, MarketApi>, { database }: Storage): ReadonlyMap<string, Source> {
  const bindings = createBindingStore(database);
  const installs = new Set(apis.keys());
  return new Map(
    [...apis].map(([name, api]) => {
      // What only changes the marketplace no story calls.
      const whole = api as unknown as Source;
      const open = () => bindSource(whole, (grant) => bindings.check(name, grant, installs));
      let token = api.token();
      let bound = open();
      const current = () => {
        if (api.token() !== token) bound = open();
        token = api.token();
        return bound;
      };
      const handler: ProxyHandler<Source> = {
        get: (_, key) => Reflect.get(current(), key),
      };
      return [name, new Proxy(bound, handler)];
    }),
  );
}

/** What every loop would do now, until none of them has anything left to do. */
function createTurn(deps: ServicesDeps, services: Services): () => Promise<void> {
  const { clock, readRequests, silence } = services;
  const tick = createTick(deps, services);
  const takeIn = createTakeIn(deps, services);
  const brake = createBrake(services);
  const converge = createConverge(deps, services);

  return async () => {
    await silence.check();
    await tick();
    for (let turns = 0; turns < 100; turns += 1) {
      await takeIn();
      while (await reconcileNext(services, signal));
      const toAsk = await readRequests.installsDue(toInstant(clock.now()));
      if (toAsk.length > 0) await once(createReadWorker(services));
      await brake();
      if ((await converge()) === 0) return;
    }
    throw new Error('there is always something left to do');
  };
}

/** The brake, and what it has listed before it lets anything pass. */
function createBrake(services: Services): () => Promise<void> {
  const { database, clock, installs, rules, silence } = services;
  const { gracePeriods, routeLink } = rules;
  const activeLists = createActiveListStore(database);
  const installsReaching = createInstallsReaching(installs, routeLink);
  const removing = {
    ...services,
    beforeDeciding: () => silence.check(),
    lockEvidence: services.evidence.lock,
    onListWanted: () => undefined,
    awaitedReadings: createAwaitedReadingStore({ gracePeriods, installs, installsReaching, wantLists }),
    // The tool of stories does not tell of work.
    mayPass: createFinalReadingStore({ scopeOf: () => undefined, wantRead: () => Promise.resolve() }).mayPass,
  };
  const listing = { ...services, activeLists };
  return async () => {
    const now = toInstant(clock.now());
    await brakeDue(removing);
    const wanted = await activeLists.installsDue(now);
    for (const install of wanted) {
      const wantedAt = await activeLists.claim(install, now, instantIn(clock, convergeLeaseMs));
      if (wantedAt !== null) await answerList(listing, install, wantedAt, signal);
    }
    if (wanted.length > 0) await brakeDue(removing);
  };
}

const onReadWanted = () => undefined;

/** Has installs read where the schedule says so. */
function createTick(deps: ServicesDeps, services: Services): () => Promise<void> {
  const { database } = deps.storage;
  const { clock, logger, installStates, installs } = services;
  const { schedule } = deps.config.reconcile;
  let seen = '';
  return async () => {
    const tick = lastTick(schedule, clock.now());
    if (tick === seen) return;
    seen = tick;
    const parts = { database, installStates, logger, clock, onReadWanted, installs, schedule };
    await once(createScheduleWorker(parts));
  };
}

/** Takes in all that was stored. */
function createTakeIn(deps: ServicesDeps, services: Services): () => Promise<void> {
  const { inbox } = deps.storage;
  const { clock, memberships, installStates } = services;
  const intake = () =>
    createIntakeWorker({
      ...services,
      inbox,
      onReadWanted,
      staleAfterMs: deps.config.retention.deliveriesMs,
      wantInstallRead: installStates.wantRead,
      wantPaymentsRead,
      isReceiverBusy: () => false,
      rest: restBesideOthers,
    });
  const isDue = async () => (await inbox.hasDue(toInstant(clock.now()))) || (await memberships.hasPostponed());
  return async () => {
    while (await isDue()) await once(intake());
  };
}

/** Whatever a loop does in one run, and no more. */
async function once(loop: Loop): Promise<void> {
  loop.start();
  await loop.stop();
}

/** As the worker of the tool does, but one after the other. */
function createConverge(deps: ServicesDeps, services: Services): () => Promise<number> {
  const { database, box } = deps.storage;
  const { clock, alerts, managedDomains, rules } = services;
  const claims = withSilenceCheck(services.silence, createClaimStore(database, box));
  const settling = createSettleStore(database, box, rules.routeLink);
  const given = deps.adapters.get('studio');
  if (given === undefined) throw new Error('There is no tool');
  const seat = locationOf(deps.config.tools.get('studio')?.settings ?? {});
  const adapter = bindTool(services, 'studio', given, seat);
  const parts = {
    claims,
    settling,
    adapter,
    timeoutMs: 5000,
    clock,
    alerts,
    managedDomains,
    protectedAccounts: [],
    mayChangeAccounts: () => true,
    secondLookMs: usualSecondLookMs,
  };
  return async () => {
    const now = toInstant(clock.now());
    let count = 0;
    for (const install of await claims.installsDue('studio', now)) {
      const order = { tool: 'studio', install, token: randomUUID(), limit: 100, now };
      const leasedUntil = instantIn(clock, convergeLeaseMs);
      const taken = await claims.claim({ ...order, leasedUntil, exclusiveBy: ['trainerId'] });
      for (const claim of taken) await convergeMembership(parts, claim, signal);
      count += taken.length;
    }
    return count;
  };
}
