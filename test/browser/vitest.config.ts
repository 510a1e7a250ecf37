import { defineConfig } from 'vitest/config';
import { bundledThreads } from '../support/built-program.ts';
import { compileOnce } from '../support/compile-once.ts';

compileOnce();

/** What needs a browser, which npm does not bring: Debian's `chromium`, or the one that `CHROMIUM` names. */
export default defineConfig({
  plugins: [bundledThreads],
  test: {
    include: ['test/browser/**/*.browser.ts'],
    globalSetup: ['test/support/built-program.ts'],
    // As many as there are cores: Vitest would leave one free.
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
