import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { Config } from '../../src/config/config-schema.ts';
import type { Context } from '../../src/context.ts';
import { type Database, inTransaction } from '../../src/db/database.ts';
import type { Row, Tables } from '../../src/db/schema.ts';
import type { BrakeLimits } from '../../src/domain/brake.ts';
import type { Evidence } from '../../src/domain/evidence.ts';
import type { Install, RouteLink } from '../../src/domain/install.ts';
import { applyEvidence, type NamedTrainer } from '../../src/evidence/apply-evidence.ts';
import { createIntakeWorker, type IntakePorts } from '../../src/evidence/intake-worker.ts';
import { evidenceOfEvent, joinEvidence } from '../../src/evidence/read-delivery.ts';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import { readEvent } from '../../src/inbox/event-schema.ts';
import { hasDueDeliveries } from '../../src/inbox/inbox-store.ts';
import { createSecretBox } from '../../src/keys/secret-box.ts';
import { createAlerts } from '../../src/lib/alerts.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { chunksOf } from '../../src/lib/lists.ts';
import type { Loop } from '../../src/lib/loop.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import { hasPostponed, lockEvidence } from '../../src/memberships/derivation-store.ts';
import { wantRead } from '../../src/reconcile/read/install-state-store.ts';
import { wantLists } from '../../src/reconcile/runs/active-list-store.ts';
import { brakeDue, type RemovalPorts } from '../../src/removals/removal-worker.ts';
import { wantScopes } from '../../src/usage/read/scope-store.ts';
import type { Alerting } from './alerting.ts';
import { newDelivery } from './deliveries.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { createLogLines, type LogLines } from './log-lines.ts';
import { until } from './until.ts';

/** Everything up to the memberships, on a database of the test's own, with a clock that the test moves. */
export interface Engine extends Context {
  clock: FakeClock;
  intake: IntakePorts;
  braking: RemovalPorts;
  /** Of the whole process, for a test that gives it another. */
  pollMs?: number;
  log: LogLines;
  /** Stores bodies as deliveries of an install. */
  deliver(bodies: string[], install?: string): Promise<void>;
  /** Runs intake until nothing is due. */
  takeIn(): Promise<void>;
  /** Merges events without the inbox, in one transaction. */
  apply(bodies: string[], install?: string): Promise<void>;
  /** The same in a fraction of the time, as intake does it: up to 50 at once. */
  applyTogether(bodies: string[], install?: string): Promise<void>;
  /** Merges any evidence, in one transaction. */
  merge(evidence: Evidence): Promise<void>;
  /** Has the brake decide about all that is due. */
  brake(): Promise<void>;
  /** Moves the time forward, and lets the brake decide about what is due. */
  pass(ms: number): Promise<void>;
  membershipRows(): Promise<Row<'membership'>[]>;
  /** All rows of a table. */
  rows<Table extends keyof Tables>(table: Table): Promise<object[]>;
}

/** By project id, into the tool `studio`. */
const everyProject: RouteLink = ({ externalProjectId }) =>
  externalProjectId === null ? undefined : { tool: 'studio', groupId: externalProjectId };

/** The defaults of the configuration. */
const usualLimits = { max: 25, maxFraction: 0.3 };
const monthMs = 30 * 24 * 3_600_000;

/** How an install is connected where only its tool and its projects matter. */
export function inStudio(projects: readonly string[] = ['*']): Install {
  return {
    source: 'platform',
    token: '',
    jobs: new Map(),
    webhookSecrets: [],
    tool: 'studio',
    projects,
    guidelines: false,
    livesIn: 'configuration',
  };
}

/** From now on the brake has these limits. */
export function limitRemovals(engine: Engine, limits: Partial<BrakeLimits>): void {
  engine.config = { ...engine.config, removals: { ...engine.config.removals, ...limits } };
}

interface EngineOptions {
  routeLink?: RouteLink;
  key?: Buffer;
  limits?: BrakeLimits;
  managedDomains?: string[];
  /** Installs whose marketplace can be asked before an end, and whose walls are watched. */
  installs?: Context['installs'];
  adapters?: Context['adapters'];
  /** Has the alerts heard; else they are in the log and the metrics alone. */
  hears?: Alerting['hears'];
}

export function createEngine(
  database: Database,
  {
    routeLink = everyProject,
    key = randomBytes(32),
    limits = usualLimits,
    managedDomains = [],
    installs = new Map(),
    adapters = new Map(),
    hears,
  }: EngineOptions = {},
): Engine {
  const box = createSecretBox(key);
  const clock = createFakeClock();
  const log = createLogLines();
  const metrics = createMetrics();
  const alerts = createAlerts(log.logger, metrics, hears?.({ database, clock, logger: log.logger }));
  const config = Config.parse({});
  const engine: Engine = {
    config: {
      ...config,
      marketplace: { ...config.marketplace, managedDomains },
      removals: { ...config.removals, ...limits },
    },
    installs,
    sources: new Map(),
    adapters,
    wake: () => undefined,
    database,
    box,
    clock,
    log,
    metrics,
    alerts,
    logger: log.logger,
    routeLink,
    intake: { wantInstallRead: wantRead, isReceiverBusy: () => false },
    // Nothing is known to tell of work.
    braking: { beforeDeciding: async () => undefined, wantLists, wantScopes, scopeOf: () => undefined },
    brake: () => brakeDue(engine, engine.braking),
    async pass(ms) {
      clock.advance(ms);
      await brakeDue(engine, engine.braking);
    },
    async deliver(bodies, install = 'acme') {
      const receivedAt = toInstant(clock.now());
      await appendDeliveries(
        engine,
        bodies.map((body) => newDelivery(body, { install, receivedAt })),
      );
    },
    async takeIn() {
      const worker = createIntakeWorker(engine, engine.intake);
      worker.start();
      try {
        const isDue = async () =>
          (await hasDueDeliveries(engine, toInstant(clock.now()))) || (await hasPostponed(engine));
        await until('intake has nothing to do', isDue, (due) => !due);
      } finally {
        await worker.stop();
      }
    },
    async apply(bodies, install = 'acme') {
      const now = toInstant(clock.now());
      const added = bodies.map((body) => toEvidence(body, install, now));
      await applyAll(
        engine,
        added.map((one) => [one, namedIn(one, now)]),
        now,
      );
    },
    async applyTogether(bodies, install = 'acme') {
      const now = toInstant(clock.now());
      const batches = chunksOf(bodies, 50).map((some) => some.map((body) => toEvidence(body, install, now)));
      await applyAll(
        engine,
        batches.map((some) => [joinEvidence(some), some.flatMap((one) => namedIn(one, now))]),
        now,
      );
    },
    merge: (evidence) => applyAll(engine, [[evidence, []]], toInstant(clock.now())),
    membershipRows: () => database.kysely.selectFrom('membership').selectAll().orderBy('id').execute(),
    rows: (table) => database.kysely.selectFrom(table).selectAll().execute(),
  };
  return engine;
}

/** The trainers that an event names, as the intake finds them. */
function namedIn({ contracts, people }: Evidence, receivedAt: string): NamedTrainer[] {
  return people.flatMap(({ install, trainerId }) =>
    contracts.map(({ contractId }) => ({ install, contractId, trainerId, receivedAt })),
  );
}

export function toEvidence(body: string, install: string, now: string): Evidence {
  const read = readEvent(Buffer.from(body));
  if (read.outcome !== 'event') throw new Error(`not an event: ${body}`);
  return evidenceOfEvent(install, read.event, now, monthMs).evidence;
}

async function applyAll(engine: Engine, added: [Evidence, NamedTrainer[]][], now: string): Promise<void> {
  await inTransaction(engine.database, async (tx) => {
    await lockEvidence(engine, tx);
    for (const [evidence, named] of added) await applyEvidence(engine, tx, evidence, now, named);
  });
}

/** Everything that any part needs, and no part running. */
export function createTestContext(database: Database, changes: Partial<Context> = {}): Context {
  const [{ logger }, metrics] = [createLogLines(), createMetrics()];
  return {
    database,
    box: createSecretBox(randomBytes(32)),
    config: Config.parse({}),
    clock: createFakeClock(),
    logger,
    metrics,
    alerts: createAlerts(logger, metrics),
    installs: new Map(),
    sources: new Map(),
    adapters: new Map(),
    routeLink: everyProject,
    wake: () => undefined,
    ...changes,
  };
}

/** Starts loops that are stopped after the test. */
export function startLoops(...loops: Loop[]): void {
  for (const loop of loops) loop.start();
  onTestFinished(async () => {
    await Promise.all(loops.map((loop) => loop.stop()));
  });
}
