import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { type Database, inTransaction } from '../../src/db/database.ts';
import type { MembershipRow, Tables } from '../../src/db/tables.ts';
import type { Evidence } from '../../src/domain/evidence.ts';
import { applyEvidence } from '../../src/engine/apply-evidence.ts';
import { evidenceOfEvent } from '../../src/engine/evidence-of-event.ts';
import { createEvidenceStore } from '../../src/engine/evidence-store.ts';
import { createIntakeWorker, type IntakeDeps } from '../../src/engine/intake-worker.ts';
import type { RouteLink } from '../../src/engine/link-router.ts';
import { createMembershipStore } from '../../src/engine/membership-store.ts';
import { createReadRequestStore } from '../../src/engine/read-request-store.ts';
import { readEvent } from '../../src/inbox/event-schema.ts';
import { createInboxStore } from '../../src/inbox/inbox-store.ts';
import { toInstant } from '../../src/lib/clock.ts';
import type { Loop } from '../../src/lib/loop.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import { createSecretBox, type SecretBox } from '../../src/lib/secret-box.ts';
import { newDelivery } from './deliveries.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { createLogLines, type LogLines } from './log-lines.ts';
import { until } from './until.ts';

/** Everything up to the memberships, over a database of the test's own, in time that stands still. */
export interface Engine extends IntakeDeps {
  box: SecretBox;
  clock: FakeClock;
  log: LogLines;
  /** Stores bodies as deliveries of an install. */
  deliver(bodies: string[], install?: string): Promise<void>;
  /** Runs intake until nothing is due. */
  takeIn(): Promise<void>;
  /** Merges events without the inbox, in one transaction. */
  apply(bodies: string[], install?: string): Promise<void>;
  /** Merges any evidence, in one transaction. */
  merge(evidence: Evidence): Promise<void>;
  membershipRows(): Promise<MembershipRow[]>;
  /** All rows of a table. */
  rows<Table extends keyof Tables>(table: Table): Promise<object[]>;
}

/** By project id, into the tool `studio`. */
const everyProject: RouteLink = ({ externalProjectId, provisioningMode }) =>
  externalProjectId === null || provisioningMode === 'MANAGED_ADAPTER'
    ? undefined
    : { tool: 'studio', groupId: externalProjectId };

export function createEngine(
  database: Database,
  { routeLink = everyProject, key = randomBytes(32) }: { routeLink?: RouteLink; key?: Buffer } = {},
): Engine {
  const box = createSecretBox(key);
  const clock = createFakeClock();
  const log = createLogLines();
  const stores = {
    inbox: createInboxStore(database, box),
    memberships: createMembershipStore(database),
    evidence: createEvidenceStore(database, box),
    readRequests: createReadRequestStore(database),
  };
  const { inbox, memberships } = stores;
  const engine: Engine = {
    ...{ ...stores, database, box, routeLink, clock, log },
    ...{ metrics: createMetrics(), logger: log.logger },
    isReceiverBusy: () => false,
    onMembershipDue: () => undefined,
    onReadWanted: () => undefined,
    async deliver(bodies, install = 'acme') {
      const receivedAt = toInstant(clock.now());
      await inbox.append(bodies.map((body) => newDelivery(body, { install, receivedAt })));
    },
    async takeIn() {
      const worker = createIntakeWorker(engine);
      worker.start();
      try {
        const isDue = async () =>
          (await inbox.hasDue(toInstant(clock.now()))) || (await memberships.hasPostponed());
        await until('intake has nothing to do', isDue, (due) => !due);
      } finally {
        await worker.stop();
      }
    },
    async apply(bodies, install = 'acme') {
      const now = toInstant(clock.now());
      await applyAll(
        engine,
        bodies.map((body) => toEvidence(body, install, now)),
        now,
      );
    },
    merge: (evidence) => applyAll(engine, [evidence], toInstant(clock.now())),
    membershipRows: () =>
      database.kysely.selectFrom('membership').selectAll().orderBy('id').execute(),
    rows: (table) => database.kysely.selectFrom(table).selectAll().execute(),
  };
  return engine;
}

function toEvidence(body: string, install: string, now: string): Evidence {
  const read = readEvent(Buffer.from(body));
  if (read.outcome !== 'event') throw new Error(`not an event: ${body}`);
  return evidenceOfEvent(install, read.event, now).evidence;
}

async function applyAll(engine: Engine, added: Evidence[], now: string): Promise<void> {
  await inTransaction(engine.database, async (tx) => {
    await engine.evidence.lock(tx);
    for (const evidence of added) await applyEvidence(engine, tx, evidence, now);
  });
}

/** Starts loops that are stopped after the test. */
export function startLoops(...loops: Loop[]): void {
  for (const loop of loops) loop.start();
  onTestFinished(async () => {
    await Promise.all(loops.map((loop) => loop.stop()));
  });
}
