import { defineConfig } from 'vitest/config';
import { bundledThreads } from '../../support/built-program.ts';
import { compileOnce } from '../../support/compile-once.ts';

compileOnce();

/** Tests that need schemathesis, which npm does not provide. */
export default defineConfig({
  plugins: [bundledThreads],
  test: {
    include: ['test/http/api/**/*.fuzz.ts'],
    globalSetup: ['test/support/built-program.ts'],
    testTimeout: 1_200_000,
    hookTimeout: 600_000,
  },
});
