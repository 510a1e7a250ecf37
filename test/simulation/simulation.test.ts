import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

/** Runs in a process of its own, because a simulation replaces Node's timers, dates and random values. */
async function run(script: string, ...given: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [`test/simulation/${script}`, ...given], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

describe('a simulation', () => {
  /** `.ci/run` simulates 200 seeds, and `.ci/full` storms and quiet weeks. */
  it('keeps the promise on the day of a seed, and logs the same lines each time', async () => {
    const tell = async (seed: string) => {
      const told = await run('simulate.ts', '--seed', seed, '--days', '0.003', '--brief', '--log');
      const [summary, ...lines] = told.trimEnd().split('\n').reverse();
      expect(summary).toContain('1 passed, 0 failed');
      // A day on which nothing reaches the marketplace passes too.
      expect(lines.some((line) => line.includes('An install was read'))).toBe(true);
      return createHash('sha256').update(lines.join('\n')).digest('hex');
    };
    const [first, again, other] = await Promise.all([tell('7'), tell('7'), tell('8')]);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });
});
