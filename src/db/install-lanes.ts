import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createTurnLanes, type Loop, type Polling } from '../lib/loop.ts';
import type { Database } from './database.ts';
import { type Hold, takeLock } from './lock.ts';

/** The lock of an install's work, and the pulse of the loop. */
export interface LaneHold extends Hold {
  /** Call it at each step of long work. */
  beat(): void;
}

interface InstallLanesOptions {
  name: string;
  /** How many installs are worked for at the same time. */
  atOnce: number;
  stallMs: number;
  /** A dead worker delays the work by at most this long. */
  leaseMs: number;
  /** @returns the installs with work due */
  due(): Promise<readonly string[]>;
  /** It asks again what is due, because another process may have done it since `due`. */
  work(install: string, signal: AbortSignal, hold: LaneHold): Promise<unknown>;
}

/** Work for installs side by side. Installs take turns, and one process at a time has the work of an install. */
export function createInstallLanes(
  ctx: Polling & { database: Database; clock: Clock; logger: Logger },
  { leaseMs, work, ...options }: InstallLanesOptions,
): Loop {
  const { pollMs, clock, logger } = ctx;
  return createTurnLanes({
    ...options,
    pollMs,
    clock,
    logger,
    async claim(install, signal) {
      const what = `The ${options.name} of ${install}`;
      const lock = await takeLock(ctx, { name: `${options.name}:${install}`, what, leaseMs });
      if (lock === null) return null;
      return async (beat) => {
        await work(install, signal, { ...lock, beat }).finally(lock.release);
      };
    },
  });
}
