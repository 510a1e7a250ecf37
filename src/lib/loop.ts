import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';

/** Work that is repeated until it is stopped. */
export interface Loop {
  readonly name: string;
  start(): void;
  /** Starts a run without waiting for the interval. Several wakes make one run. */
  wake(): void;
  /** While it is paused, it does nothing, and stays healthy. A run under way goes on. */
  pause(isPaused: boolean): void;
  /** Aborts the signal of the run, and resolves when the run has ended. */
  stop(): Promise<void>;
  /** Whether a run has ended or made progress lately. */
  isHealthy(): boolean;
}

export interface Polling {
  /** How often a loop looks for work without being woken. One value for all loops of a process. */
  pollMs?: number | undefined;
}

const usualPollMs = 1000;

interface LoopOptions extends Polling {
  name: string;
  /** How long to wait after a run that had nothing more to do, if that is not `pollMs`. */
  intervalMs?: number;
  /** After a run, wakes are ignored for this many times its length; 0 by default. */
  restPerRun?: number;
  /** Does what is due. `more` asks to be called again at once. A long run calls `beat` at each step. */
  run(signal: AbortSignal, beat: () => void): Promise<'more' | 'idle'>;
  logger: Logger;
  clock: Clock;
  /** The loop is unhealthy if a run neither ends nor beats for longer than this. */
  stallMs?: number;
}

const longestRestAfterFailureMs = 30_000;

export function createLoop(options: LoopOptions): Loop {
  const { name, pollMs = usualPollMs, intervalMs = pollMs, restPerRun = 0 } = options;
  const { run, logger, clock, stallMs = 120_000 } = options;
  const stopping = new AbortController();
  let rest = new AbortController();
  let lastBeatAt = clock.now().getTime();
  let failures = 0;
  let isPaused = false;
  let done: Promise<void> | undefined;

  function beat(): void {
    lastBeatAt = clock.now().getTime();
  }

  async function runForever(): Promise<void> {
    while (!stopping.signal.aborted) {
      rest = new AbortController();
      const begunAt = clock.now().getTime();
      const restMs = await runOnce();
      beat();
      if (restMs > 0) await restFor(restMs, Math.max(0, lastBeatAt - begunAt) * restPerRun);
      // Lets requests and timers use the thread before the next run.
      await nextTurn();
    }
  }

  /** @returns how many milliseconds to wait */
  async function runOnce(): Promise<number> {
    if (isPaused) return intervalMs;
    try {
      const outcome = await run(stopping.signal, beat);
      failures = 0;
      return outcome === 'more' ? 0 : intervalMs;
    } catch (error) {
      if (stopping.signal.aborted) return 0;
      failures += 1;
      logger.error({ err: error, loop: name, failures }, 'A loop failed and will run again');
      return Math.min(1000 * 2 ** (failures - 1), longestRestAfterFailureMs);
    }
  }

  /** A wake ends the wait of a healthy loop, but not before `leastMs`. A failing loop waits to the end. */
  async function restFor(ms: number, leastMs: number): Promise<void> {
    const firmMs = failures > 0 ? ms : Math.min(ms, leastMs);
    await restUntil(firmMs, stopping.signal);
    await restUntil(ms - firmMs, rest.signal);
  }

  async function restUntil(ms: number, signal: AbortSignal): Promise<void> {
    if (ms > 0) await wait(ms, undefined, { signal }).catch(() => undefined);
  }

  return {
    name,
    start() {
      beat();
      done ??= runForever();
    },
    // Without a reason, each wake would make an error with a stack: 60 µs for a hire.
    wake: () => rest.abort('woken'),
    pause(isToPause) {
      if (isPaused && !isToPause) rest.abort();
      isPaused = isToPause;
    },
    async stop() {
      stopping.abort();
      rest.abort();
      await done;
    },
    isHealthy: () => clock.now().getTime() - lastBeatAt < intervalMs + stallMs,
  };
}

export type Wakes<Name extends string> = ReturnType<typeof createWakes<Name>>;

/** Wakes loops by name, so that work can be announced before its loop is created. */
export function createWakes<Name extends string>() {
  const loops = new Map<Name, Loop[]>();
  return {
    wake(name: Name): void {
      for (const loop of loops.get(name) ?? []) loop.wake();
    },
    /** Makes `wake` wake these loops too. */
    add(name: Name, ...added: readonly Loop[]): void {
      loops.set(name, [...(loops.get(name) ?? []), ...added]);
    },
  };
}
