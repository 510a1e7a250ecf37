import { defineConfig } from 'vitest/config';
import { compileOnce } from '../support/compile-once.ts';

compileOnce();

/** A hundred thousand instants: too long for every change on every desk. */
export default defineConfig({
  test: {
    include: ['test/pasts/**/*.pasts.ts'],
    globalSetup: ['test/support/postgres-server.ts'],
    maxWorkers: 2,
    // For what hangs for ever: none is to fail by the clock of a busy machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
