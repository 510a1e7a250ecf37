import { defineConfig } from 'vitest/config';
import { bundledThreads } from '../support/built-program.ts';
import { compileOnce } from '../support/compile-once.ts';

compileOnce();

/** Tests that need a browser: Debian's `chromium`, or the one that `CHROMIUM` names. */
export default defineConfig({
  plugins: [bundledThreads],
  test: {
    include: ['test/browser/**/*.browser.ts'],
    globalSetup: ['test/support/built-program.ts'],
    // Vitest would leave one core free.
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
