import { setTimeout as wait } from 'node:timers/promises';

/** How soon a bridge in a test's own process sees what it was not woken for. */
export const pollMs = 100;

/**
 * Looks again and again until it is so; what never becomes so fails with what was last seen. The
 * time is for the busiest machine: a test is over as soon as it is so.
 */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  isSo: (seen: T) => boolean,
  withinMs = 60_000,
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
