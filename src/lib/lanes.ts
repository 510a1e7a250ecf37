import { toAppError } from '../domain/errors.ts';
import { createLoop, type Loop, type LoopOptions } from './loop.ts';
import { createTurns } from './turns.ts';

/** A claimed piece of work. */
export interface Lane {
  /** One piece of work at a time is under way for each name. */
  name: string;
  /** It calls `beat` at each step. */
  work(beat: () => void): Promise<void>;
}

interface LanesOptions extends Omit<LoopOptions, 'run'> {
  stallMs: number;
  /** How many pieces of work are under way at the same time. */
  atOnce: number;
  /** @returns the next piece of work, whose name is not under way; null if there is none */
  next(underway: ReadonlySet<string>, signal: AbortSignal): Promise<Lane | null>;
}

interface TurnLanesOptions extends Omit<LanesOptions, 'next'> {
  /** @returns the names for which work is due */
  due(): Promise<readonly string[]>;
  /** @returns the work; null if another process has it */
  claim(name: string, signal: AbortSignal): Promise<Lane['work'] | null>;
}

/** Lanes whose names take turns. */
export function createTurnLanes({ due, claim, ...options }: TurnLanesOptions): Loop {
  const turns = createTurns();
  return createLanes({
    ...options,
    async next(underway, signal) {
      const waiting = (await due()).filter((name) => !underway.has(name));
      for (const name of turns.inOrder(waiting)) {
        const work = await claim(name, signal);
        if (work === null) continue;
        turns.served(name);
        return { name, work };
      }
      return null;
    },
  });
}

/** A loop with pieces of work side by side, so that slow work for one name does not delay the others. */
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
        // Its claim is claimed again when its lease has run out.
        const fields = { err: toAppError(error), loop: loopName, lane: name };
        logger.error(fields, 'A piece of work failed');
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
