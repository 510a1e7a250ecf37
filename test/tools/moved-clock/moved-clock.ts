import { renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from '../../../src/lib/clock.ts';

/** One clock for several processes: as fast as the real one, and ahead of it as far as is wanted. */
export interface MovedClock extends Clock {
  /** Ahead to this instant, at once for all processes. */
  moveTo(instant: string): void;
  /** What a program of Node's or a server of Django's is started with. */
  env: Record<string, string>;
  /** What Node needs besides, before the program. */
  nodeArgs: readonly string[];
}

/** @param keptIn a folder for the file that all of them read */
export function createMovedClock(keptIn: string, beginsAt: string): MovedClock {
  const file = path.join(keptIn, 'moved-clock');
  let aheadMs = 0;

  function moveTo(instant: string): void {
    const wantedMs = Date.parse(instant) - Date.now();
    if (Number.isNaN(wantedMs)) throw new Error(`${instant} is no instant`);
    if (wantedMs < aheadMs) throw new Error(`${instant} has passed`);
    aheadMs = wantedMs;
    // No process may read half of it.
    writeFileSync(`${file}.draft`, String(aheadMs));
    renameSync(`${file}.draft`, file);
  }

  moveTo(beginsAt);
  return {
    now: () => new Date(Date.now() + aheadMs),
    moveTo,
    env: {
      MOVED_CLOCK: file,
      PYTHONPATH: import.meta.dirname,
      // Else Python keeps what it has compiled beside the source.
      PYTHONDONTWRITEBYTECODE: '1',
    },
    nodeArgs: ['--import', import.meta.resolve('./move-date.ts')],
  };
}
