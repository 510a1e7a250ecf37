import { setTimeout as wait } from 'node:timers/promises';

/**
 * How two threads of a process take turns at SQLite's lock for writing. SQLite gives it to who asks at the right moment,
 * and who finds it taken asks again after up to 100 ms: a thread that writes without a break leaves the other none. Here
 * the one that stores deliveries goes first. Other processes know nothing of this.
 */
export type WriteTurns = Int32Array<SharedArrayBuffer>;

const [free, wanted] = [0, 1];
const patienceMs = 5000;
/** When to ask again where nothing was heard, as another process or a checkpoint has the lock. */
const askAgainMs = 5;
/** Longer than a turn of the first takes. Else the other would wait for a thread that is gone. */
const longestGivenWayMs = 25;

export function createWriteTurns(): WriteTurns {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/**
 * Takes the lock as soon as the other thread gives it back.
 *
 * @param take throws where the lock is not free, as `isTaken` says
 */
export async function takeFirst(
  turns: WriteTurns,
  take: () => Promise<void>,
  isTaken: (error: unknown) => boolean,
): Promise<void> {
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

/** Lets the one that goes first begin, where it waits. */
export async function giveWay(turns: WriteTurns): Promise<void> {
  const deadline = performance.now() + longestGivenWayMs;
  while (Atomics.load(turns, 0) === wanted && performance.now() < deadline) await wait(1);
}

/** The lock was given back. */
export function endTurn(turns: WriteTurns): void {
  Atomics.notify(turns, 0);
}
