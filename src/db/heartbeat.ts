import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { beatEveryMs, keepForMs } from '../domain/instance.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop } from '../lib/loop.ts';
import { version } from '../lib/version.ts';
import type { Database } from './database.ts';
import { beatInstance, stopInstance } from './instance-store.ts';

/** Records in the database that this instance runs, and when it has stopped. */
export interface Heartbeat {
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
