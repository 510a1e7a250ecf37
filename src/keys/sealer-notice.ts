import { randomUUID } from 'node:crypto';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop } from '../lib/loop.ts';
import type { SealerStore } from './sealer-store.ts';

/**
 * Records the key with which this instance seals, from before the first value until after the last
 * one, so that a rotation does not finish while an instance still seals with another key.
 */
export interface SealerNotice {
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface NoticeDeps {
  sealers: SealerStore;
  fingerprint: string;
  clock: Clock;
  logger: Logger;
}

const intervalMs = 10_000;
const leaseMs = 30_000;

export function createSealerNotice(deps: NoticeDeps): SealerNotice {
  const { sealers, fingerprint, clock, logger } = deps;
  const sealer = { id: randomUUID(), fingerprint };
  let isStarted = false;
  const announce = () => sealers.announce(sealer, toInstant(clock.now()), instantIn(clock, leaseMs));
  const loop = createLoop({
    name: 'sealer',
    intervalMs,
    logger,
    clock,
    async run() {
      await announce();
      return 'idle';
    },
  });
  return {
    async start() {
      await announce();
      isStarted = true;
      loop.start();
    },
    async stop() {
      await loop.stop();
      if (!isStarted) return;
      await sealers.leave(sealer.id).catch((error: unknown) => {
        logger.warn(
          { err: error },
          'The record of the key of this instance could not be deleted: it runs out by itself soon',
        );
      });
    },
  };
}
