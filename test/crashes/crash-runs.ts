import { randomInt } from 'node:crypto';

/** How often each test lets something fail: `KILLS=1000` for a proof, a few for a desk. */
export const kills = Number(process.env['KILLS'] ?? 20);

/** Of all that is left to chance; `KILLS_SEED` has the same happen again, as far as a clock allows. */
export const seed = Number(process.env['KILLS_SEED'] ?? randomInt(2 ** 31));

/** For what hangs for ever. */
export const limitMs = 600_000 + kills * 20_000;

/** More ends in ten minutes than any brake would let pass. */
export const unbraked = { removals: { max: 100_000, maxFraction: 1 } };

/** What a report of the run is to say, beside that nothing was found. */
export function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}
