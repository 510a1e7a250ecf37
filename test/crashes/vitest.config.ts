import { defineConfig } from 'vitest/config';
import { bundledThreads } from '../support/built-program.ts';
import { compileOnce } from '../support/compile-once.ts';

compileOnce();

/** Processes, servers and disks that fail at random moments: too long for every change on every desk. */
export default defineConfig({
  plugins: [bundledThreads],
  test: {
    include: ['test/crashes/**/*.crash.ts'],
    globalSetup: ['test/support/postgres-server.ts', 'test/support/built-program.ts'],
    // One is killed while the other starts, so that both cores have work.
    maxWorkers: 2,
    // For what hangs for ever: none is to fail by the clock of a busy machine.
    testTimeout: 1_800_000,
    hookTimeout: 600_000,
  },
});
