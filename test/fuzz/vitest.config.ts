import { defineConfig } from 'vitest/config';
import { bundledThreads } from '../support/built-program.ts';
import { compileOnce } from '../support/compile-once.ts';

compileOnce();

/** A million inputs: too long for every change on every desk. */
export default defineConfig({
  plugins: [bundledThreads],
  test: {
    include: ['test/fuzz/**/*.fuzz.ts'],
    globalSetup: ['test/support/postgres-server.ts', 'test/support/built-program.ts'],
    disableConsoleIntercept: true,
    // For what hangs for ever: none is to fail by the clock of a busy machine.
    testTimeout: 7_200_000,
    hookTimeout: 600_000,
  },
});
