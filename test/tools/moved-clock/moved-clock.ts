import { renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from '../../../src/lib/clock.ts';

/** One clock for several processes, which can be moved ahead of the real one. */
export interface MovedClock extends Clock {
  /** Moves the clock of all processes to this instant. */
  moveTo(instant: string): void;
  /** Variables for a Node program or a Django server. */
  env: Record<string, string>;
  /** Arguments for Node, before the program. */
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
    // No process may read a half-written file.
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
      // Otherwise Python writes compiled files beside the source.
      PYTHONDONTWRITEBYTECODE: '1',
    },
    nodeArgs: ['--import', import.meta.resolve('./move-date.ts')],
  };
}
