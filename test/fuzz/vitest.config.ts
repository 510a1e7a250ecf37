import { defineConfig } from 'vitest/config';
import { bundledThreads } from '../support/built-program.ts';
import { compileOnce } from '../support/compile-once.ts';

compileOnce();

/** A million inputs take too long to run for every change. */
export default defineConfig({
  plugins: [bundledThreads],
  test: {
    include: ['test/fuzz/**/*.fuzz.ts'],
    globalSetup: ['test/support/postgres-server.ts', 'test/support/built-program.ts'],
    disableConsoleIntercept: true,
    // Only for what hangs for ever: no test may fail because the machine is busy.
    testTimeout: 7_200_000,
    hookTimeout: 600_000,
  },
});
