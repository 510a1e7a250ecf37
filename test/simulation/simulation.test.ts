import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

/** In a process of its own, as it takes the place of Node's timers, dates and chance. */
async function run(script: string, ...given: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [`test/simulation/${script}`, ...given], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

describe('a simulation', () => {
  /** `.ci/run` lives through 200 seeds, and `.ci/full` through storms and quiet weeks. */
  it('keeps the promise on the day that a seed draws, and lives it the same each time, to the line', async () => {
    const tell = async (seed: string) => {
      const told = await run('simulate.ts', '--seed', seed, '--days', '0.003', '--brief', '--log');
      const [summary, ...lines] = told.trimEnd().split('\n').reverse();
      expect(summary).toContain('1 passed, 0 failed');
      return createHash('sha256').update(lines.join('\n')).digest('hex');
    };
    const [first, again, other] = await Promise.all([tell('7'), tell('7'), tell('8')]);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });
});
