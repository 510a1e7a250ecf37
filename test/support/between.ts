import { toInstant } from '../../src/lib/clock.ts';

/** An instant of the real clock after all that was done, and before all that will be. */
export async function pauseBetween(): Promise<string> {
  await passInstant(new Date());
  const instant = new Date();
  await passInstant(instant);
  return toInstant(instant);
}

/** Waits until what is done is later than an instant of the real clock. */
async function passInstant(instant: Date): Promise<void> {
  while (Date.now() <= instant.getTime()) await new Promise((resolve) => setImmediate(resolve));
}
