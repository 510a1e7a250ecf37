import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('gives back the memory of a busy moment, which V8 would keep', async () => {
  const script = fileURLToPath(new URL('../support/heap-peak-process.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--max-semi-space-size=2', script]);
  const { kept, left } = JSON.parse(stdout) as Record<'kept' | 'left', number>;
  expect(kept - left).toBeGreaterThan(20);
});
