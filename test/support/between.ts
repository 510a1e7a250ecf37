import { toInstant } from '../../src/lib/clock.ts';

/** An instant of the real clock after all that was done, and before all that will be. */
export async function pauseBetween(): Promise<string> {
  await nextMillisecond();
  const instant = toInstant(new Date());
  await nextMillisecond();
  return instant;
}

async function nextMillisecond(): Promise<void> {
  const before = Date.now();
  while (Date.now() <= before) await new Promise((resolve) => setImmediate(resolve));
}
