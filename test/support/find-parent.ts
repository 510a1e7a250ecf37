import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/**
 * Where databases and other folders of tests are made: in memory where there is plenty, as whether
 * they survive a power cut is not what is tested.
 */
export function findParent(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 2 ** 30 ? memory : tmpdir();
}
