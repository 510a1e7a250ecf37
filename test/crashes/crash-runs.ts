import { randomInt } from 'node:crypto';

/** How often each test makes something fail: `KILLS=1000` for a proof, a few while developing. */
export const kills = Number(process.env['KILLS'] ?? 20);

/** The seed of all random choices. `KILLS_SEED` repeats a run as far as real time allows. */
export const seed = Number(process.env['KILLS_SEED'] ?? randomInt(2 ** 31));

/** Only for a test that hangs. */
export const limitMs = 600_000 + kills * 20_000;

/** More contracts end in ten minutes than any brake would allow. */
export const unbraked = { removals: { max: 100_000, maxFraction: 1 } };

/** Prints a line for the report of the run. */
export function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}
