import { toAppError } from '../domain/errors.ts';
import { createLoop, type Loop, type LoopOptions } from './loop.ts';

/** A piece of work that has been taken, for whoever it is. */
export interface Lane {
  /** One at a time is under way for each. */
  name: string;
  /** Calls `beat` whenever it has come a step further. */
  work(beat: () => void): Promise<void>;
}

interface LanesOptions extends Omit<LoopOptions, 'run'> {
  stallMs: number;
  /** How many are under way at once. */
  atOnce: number;
  /** @returns the next to be worked on, of whom there is none under way; null where there is none */
  next(underway: ReadonlySet<string>, signal: AbortSignal): Promise<Lane | null>;
}

/** A loop whose work is done side by side, so that what is slow for one holds up no other. */
export function createLanes({ atOnce, next, ...options }: LanesOptions): Loop {
  const { name: loopName, clock, logger, stallMs } = options;
  const underway = new Map<string, { ended: Promise<void>; lastBeatAt: number }>();
  const now = () => clock.now().getTime();
  let beatLoop = () => {};

  const loop = createLoop({
    ...options,
    async run(signal, beat) {
      beatLoop = beat;
      while (underway.size < atOnce) {
        const lane = await next(new Set(underway.keys()), signal);
        if (lane === null) break;
        begin(lane);
      }
      return 'idle';
    },
  });

  function begin({ name, work }: Lane): void {
    const beat = () => {
      beatLoop();
      const one = underway.get(name);
      if (one !== undefined) one.lastBeatAt = now();
    };
    const ended = Promise.resolve()
      .then(() => work(beat))
      .catch((error: unknown) => {
        // What it had taken is taken again once its lease has run out.
        const fields = { err: toAppError(error), loop: loopName, lane: name };
        logger.error(fields, 'What was begun could not be finished');
      })
      .finally(() => {
        underway.delete(name);
        loop.wake();
      });
    underway.set(name, { ended, lastBeatAt: now() });
  }

  return {
    ...loop,
    async stop() {
      await loop.stop();
      await Promise.all([...underway.values()].map(({ ended }) => ended));
    },
    isHealthy: () => loop.isHealthy() && [...underway.values()].every(({ lastBeatAt }) => now() - lastBeatAt < stallMs),
  };
}
