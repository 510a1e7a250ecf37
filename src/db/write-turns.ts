import { setTimeout as wait } from 'node:timers/promises';

/**
 * How two threads of a process take turns at SQLite's write lock. SQLite gives it to whoever asks at the right moment, and
 * retries after up to 100 ms, so a thread that writes without a break would starve the other. Here the thread that stores
 * deliveries goes first. Other processes take no part in this.
 */
export type WriteTurns = Int32Array<SharedArrayBuffer>;

const [free, wanted] = [0, 1];
const patienceMs = 5000;
/** When to ask again without being woken, because another process or a checkpoint may hold the lock. */
const askAgainMs = 5;
/** Longer than any turn of the first thread. Without a limit, the other would wait for a thread that has died. */
const longestGivenWayMs = 25;

export function createWriteTurns(): WriteTurns {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/**
 * Takes the lock as soon as the other thread gives it back.
 *
 * @param take throws an error for which `isTaken` holds while the lock is not free
 */
export async function takeFirst(
  turns: WriteTurns,
  take: () => Promise<unknown>,
  isTaken: (error: unknown) => boolean,
): Promise<unknown> {
  const deadline = performance.now() + patienceMs;
  try {
    for (;;) {
      try {
        return await take();
      } catch (error) {
        if (!isTaken(error) || performance.now() > deadline) throw error;
      }
      Atomics.store(turns, 0, wanted);
      await Atomics.waitAsync(turns, 0, wanted, askAgainMs).value;
    }
  } finally {
    Atomics.store(turns, 0, free);
  }
}

/** Lets the thread that goes first begin, if it is waiting. */
export async function giveWay(turns: WriteTurns): Promise<void> {
  const deadline = performance.now() + longestGivenWayMs;
  while (Atomics.load(turns, 0) === wanted && performance.now() < deadline) await wait(1);
}

/** Wakes the other thread. Call it when the lock is given back. */
export function endTurn(turns: WriteTurns): void {
  Atomics.notify(turns, 0);
}
