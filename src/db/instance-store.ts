import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { sql } from 'kysely';
import type { Instant } from '../domain/evidence.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop } from '../lib/loop.ts';
import { version } from '../lib/version.ts';
import { type Database, inTransaction, type Transaction } from './database.ts';

/** A process that receives and provisions, as another process sees it. */
export interface Instance {
  id: string;
  /** The name of its machine. */
  name: string;
  version: string;
  startedAt: Instant;
  /** The last heartbeat, by the database's clock. */
  beatAt: Instant;
  /** When it stopped in order. */
  stoppedAt: Instant | null;
}

/** How often a running instance writes a heartbeat. */
const beatEveryMs = 10_000;
/**
 * Without a heartbeat for this long an instance counts as gone. A busy machine may pause this long, and leases expire
 * after it too.
 */
const silentAfterMs = 30_000;
/** How long a stopped instance stays listed. The last one stays until another starts. */
export const keepForMs = 86_400_000;

/** Whether the instance still writes heartbeats. Pure. */
export function isInstanceRunning({ beatAt, stoppedAt }: Instance, now: Date): boolean {
  return stoppedAt === null && now.getTime() - Date.parse(beatAt) < silentAfterMs;
}

/** Since when no instance runs. Null while one runs, or if none ever has. */
export function silentSince(instances: readonly Instance[], now: Date): Instant | null {
  if (instances.some((instance) => isInstanceRunning(instance, now))) return null;
  const ends = instances.map(({ beatAt, stoppedAt }) => stoppedAt ?? beatAt);
  return ends.sort().at(-1) ?? null;
}

// The SQL of the instances on this database. Each instance keeps a row of its own.

/** Also deletes the rows of instances whose last beat is before `forgetBefore`. */
export async function beatInstance(
  database: Database,
  instance: Omit<Instance, 'stoppedAt'>,
  forgetBefore: string,
): Promise<void> {
  const { id, beatAt } = instance;
  await inTransaction(database, async (tx) => {
    await tx
      .insertInto('instance')
      .values({ ...instance, stoppedAt: null })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ beatAt }))
      .execute();
    await tx.deleteFrom('instance').where('beatAt', '<', forgetBefore).where('id', '!=', id).execute();
  });
}

export async function stopInstance(database: Database, id: string, now: string): Promise<void> {
  await inTransaction(database, (tx) =>
    tx.updateTable('instance').set({ beatAt: now, stoppedAt: now }).where('id', '=', id).execute(),
  );
}

export async function listInstances(tx: Transaction): Promise<Instance[]> {
  return await tx.selectFrom('instance').selectAll().orderBy('beatAt', 'desc').execute();
}

/** Until the transaction ends, no instance can write its first heartbeat. SQLite locks the whole file anyway. */
export async function lockInstances(tx: Transaction, dialect: Database['dialect']): Promise<void> {
  if (dialect === 'postgres') await sql`lock table instance in exclusive mode`.execute(tx);
}

/** Records in the database that this instance runs, and when it has stopped. */
interface Heartbeat {
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface HeartbeatDeps {
  database: Database;
  /** The clock of the database, which the readers of the beats use too. */
  clock: Clock;
  logger: Logger;
}

export function createHeartbeat({ database, clock, logger }: HeartbeatDeps): Heartbeat {
  const id = randomUUID();
  // Several instances may run on one machine.
  const name = `${hostname()}/${process.pid}`;
  let startedAt: string | null = null;

  async function beat(): Promise<void> {
    const beatAt = toInstant(clock.now());
    startedAt ??= beatAt;
    const instance = { id, name, version, startedAt, beatAt };
    await beatInstance(database, instance, instantIn(clock, -keepForMs));
  }

  const loop = createLoop({
    name: 'heartbeat',
    intervalMs: beatEveryMs,
    logger,
    clock,
    async run() {
      await beat();
      return 'idle';
    },
  });
  return {
    async start() {
      await beat();
      loop.start();
    },
    async stop() {
      await loop.stop();
      if (startedAt === null) return;
      await stopInstance(database, id, toInstant(clock.now())).catch((error: unknown) => {
        logger.warn(
          { err: error },
          'That this instance has stopped could not be recorded: it will only be noticed by its silence',
        );
      });
    },
  };
}
