import { setTimeout as wait } from 'node:timers/promises';

/** Looks again and again until it is so; what never becomes so fails with what was last seen. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  isSo: (seen: T) => boolean,
  withinMs = 15_000,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (isSo(seen)) return seen;
    if (performance.now() > deadline) {
      throw new Error(`not within ${withinMs} ms: ${what}; last seen: ${JSON.stringify(seen)}`);
    }
    await wait(10);
  }
}
