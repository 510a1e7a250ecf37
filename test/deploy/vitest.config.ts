import { defineConfig } from 'vitest/config';
import { bundledThreads } from '../support/built-program.ts';
import { compileOnce } from '../support/compile-once.ts';

compileOnce();

/** What asks Prometheus' own tool, which npm does not bring. */
export default defineConfig({
  plugins: [bundledThreads],
  test: {
    include: ['test/deploy/**/*.check.ts'],
    globalSetup: ['test/support/built-program.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
