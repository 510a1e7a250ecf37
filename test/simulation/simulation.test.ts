import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { tries } from '../support/tries.ts';

/** In a process of its own, as it takes the place of Node's timers, dates and chance. */
async function run(script: string, ...given: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [`test/simulation/${script}`, ...given], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

describe('a simulation', () => {
  it('keeps the promise on the days that seeds draw', async () => {
    const seeds = tries(200);
    const given = ['--seeds', String(seeds), '--days', '0.04', '--brief', '--processes', '1'];
    const told = await run('simulate-many.ts', ...given);
    expect(told).toContain(`${seeds} passed, 0 failed`);
  }, 1_800_000);

  it('keeps the promise in weeks on which little happens, and what is old is deleted', async () => {
    const seeds = tries(10);
    const given = ['--quiet', '--seeds', String(seeds), '--days', '3', '--processes', '1'];
    const told = await run('simulate-many.ts', ...given);
    expect(told).toContain(`${seeds} passed, 0 failed`);
  }, 1_800_000);

  it('lives the same days each time, to the line', async () => {
    const tell = async (seed: string) => {
      const told = await run('simulate.ts', '--seed', seed, '--days', '0.05', '--log');
      const lines = told.split('\n').filter((line) => !line.includes(' passed, '));
      return createHash('sha256').update(lines.join('\n')).digest('hex');
    };
    const [first, again, other] = [await tell('7'), await tell('7'), await tell('8')];
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  }, 600_000);
});
