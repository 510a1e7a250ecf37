import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { sql } from 'kysely';
import { AppError } from '../domain/errors.ts';
import type { Instant } from '../domain/evidence.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop } from '../lib/loop.ts';
import { version } from '../lib/version.ts';
import { type Database, inTransaction, type Transaction } from './database.ts';
import type { Row } from './schema.ts';

/** A process that receives and provisions. Each has a row of its own. */
export type Instance = Row<'instance'>;

/** How often a running instance writes a heartbeat. */
const beatEveryMs = 10_000;
/** An instance without a heartbeat for this long is gone. A busy machine may pause this long, and leases end by then. */
const silentAfterMs = 30_000;
/** How long an instance that has stopped stays listed. The last one stays until another starts. */
export const keepForMs = 86_400_000;

/** Pure. */
export function isInstanceRunning({ beatAt, stoppedAt }: Instance, now: Date): boolean {
  return stoppedAt === null && now.getTime() - Date.parse(beatAt) < silentAfterMs;
}

/** Since when no instance runs. Null while one runs, or if none ever has. Pure. */
export function silentSince(instances: readonly Instance[], now: Date): Instant | null {
  if (instances.some((instance) => isInstanceRunning(instance, now))) return null;
  const ends = instances.map(({ beatAt, stoppedAt }) => stoppedAt ?? beatAt);
  return ends.sort().at(-1) ?? null;
}

export async function listInstances(tx: Transaction): Promise<Instance[]> {
  return await tx.selectFrom('instance').selectAll().orderBy('beatAt', 'desc').execute();
}

/** Until the transaction ends, no instance can write its first heartbeat. SQLite locks the whole file anyway. */
export async function lockInstances(tx: Transaction, dialect: Database['dialect']): Promise<void> {
  if (dialect === 'postgres') await sql`lock table instance in exclusive mode`.execute(tx);
}

/**
 * @param isAlone false if another process has the SQLite database open
 * @throws AppError `conflict` while another process uses the database
 */
export async function refuseRunning(
  tx: Transaction,
  { isAlone, clock }: { isAlone: boolean; clock: Clock },
): Promise<void> {
  const running = (await listInstances(tx)).filter((instance) => isInstanceRunning(instance, clock.now()));
  if (running.length === 0 && isAlone) return;
  const names = running.map(({ name }) => name).join(', ');
  const says =
    names === ''
      ? 'Another gangway process uses the database: wait until it has finished'
      : `Gangway is running (${names}): stop it`;
  throw new AppError(
    'conflict',
    `${says}, then run this again (an instance that was killed counts as running for half a minute)`,
  );
}

/** Also deletes the rows of instances whose last heartbeat is before `forgetBefore`. */
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

/**
 * Records in the database that this instance runs, and when it has stopped.
 *
 * @param clock of the database, which the readers of the heartbeats use too
 */
export function createHeartbeat({ database, clock, logger }: { database: Database; clock: Clock; logger: Logger }) {
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
    async start(): Promise<void> {
      await beat();
      loop.start();
    },
    async stop(): Promise<void> {
      await loop.stop();
      if (startedAt === null) return;
      await stopInstance(database, id, toInstant(clock.now())).catch((error: unknown) => {
        logger.warn({ err: error }, 'Could not record that this instance has stopped. It is listed as silent instead');
      });
    },
  };
}
