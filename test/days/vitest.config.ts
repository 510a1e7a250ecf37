import { defineConfig } from 'vitest/config';
import { bundledThreads } from '../support/built-program.ts';
import { compileOnce } from '../support/compile-once.ts';

compileOnce();

/** Whole days of a marketplace, and processes that are killed and frozen: too long for every change on every desk. */
export default defineConfig({
  plugins: [bundledThreads],
  test: {
    include: ['test/days/**/*.day.ts'],
    globalSetup: ['test/support/postgres-server.ts', 'test/support/built-program.ts'],
    // More than there are cores, as they wait for processes, servers and clocks.
    maxWorkers: 4,
    // For what hangs for ever: none is to fail by the clock of a busy machine.
    testTimeout: 1_800_000,
    hookTimeout: 600_000,
  },
});
