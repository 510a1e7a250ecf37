import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';

/** Work that is done again and again until it is stopped. */
export interface Loop {
  readonly name: string;
  start(): void;
  /** Runs soon, without waiting for the interval; many wakes make one run. */
  wake(): void;
  /** Aborts the run's signal and resolves when the run has ended. */
  stop(): Promise<void>;
  /** Whether a run has ended or progressed lately; a loop that hangs becomes unhealthy. */
  isHealthy(): boolean;
}

/** How soon a loop sees what it was not woken for. */
export interface Polling {
  /** One for all loops of a process, so that a test can have all of them look more often. */
  pollMs?: number | undefined;
}

const usualPollMs = 1000;

export interface LoopOptions extends Polling {
  name: string;
  /** How long to rest after a run that found nothing more to do, where that is not `pollMs`. */
  intervalMs?: number;
  /**
   * Does what is due; `more` asks to be called again at once. One that is long calls `beat` whenever
   * it has come a step further.
   */
  run(signal: AbortSignal, beat: () => void): Promise<'more' | 'idle'>;
  logger: Logger;
  clock: Clock;
  /** A run that neither ends nor beats for longer than this counts as stalled. */
  stallMs?: number;
}

const longestRestAfterFailureMs = 30_000;

export function createLoop(options: LoopOptions): Loop {
  const { name, pollMs = usualPollMs, intervalMs = pollMs, run, logger, clock, stallMs = 120_000 } = options;
  const stopping = new AbortController();
  let rest = new AbortController();
  let lastBeatAt = clock.now().getTime();
  let failures = 0;
  let done: Promise<void> | undefined;

  function beat(): void {
    lastBeatAt = clock.now().getTime();
  }

  async function runForever(): Promise<void> {
    while (!stopping.signal.aborted) {
      rest = new AbortController();
      const restMs = await runOnce();
      beat();
      if (restMs > 0) await restFor(restMs);
      await nextTurn();
    }
  }

  /** @returns how long to rest, in milliseconds */
  async function runOnce(): Promise<number> {
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

  /** A wake ends the rest of a healthy loop; one that is failing rests in peace. */
  async function restFor(ms: number): Promise<void> {
    const { signal } = failures > 0 ? stopping : rest;
    await wait(ms, undefined, { signal }).catch(() => undefined);
  }

  return {
    name,
    start() {
      beat();
      done ??= runForever();
    },
    wake: () => rest.abort(),
    async stop() {
      stopping.abort();
      rest.abort();
      await done;
    },
    isHealthy: () => clock.now().getTime() - lastBeatAt < intervalMs + stallMs,
  };
}

/** Lets requests and timers have the thread before the next run, however soon that was asked for. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
