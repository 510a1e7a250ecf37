import { defineConfig } from 'vitest/config';
import { bundledThreads } from '../support/built-program.ts';
import { compileOnce } from '../support/compile-once.ts';

compileOnce();

/** Processes, servers and disks that fail at random moments. They take too long to run for every change. */
export default defineConfig({
  plugins: [bundledThreads],
  test: {
    include: ['test/crashes/**/*.crash.ts'],
    globalSetup: ['test/support/postgres-server.ts', 'test/support/built-program.ts'],
    // Uses both cores: one process starts while another is killed.
    maxWorkers: 2,
    // Only for what hangs for ever: no test may fail because the machine is busy.
    testTimeout: 1_800_000,
    hookTimeout: 600_000,
  },
});
