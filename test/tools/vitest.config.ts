import { defineConfig } from 'vitest/config';
import { compileOnce } from '../support/compile-once.ts';

compileOnce();

/** Journeys through real annotation tools, which npm does not bring: one script for each tool. */
export default defineConfig({
  test: {
    include: ['test/tools/**/*.journey.ts'],
    testTimeout: 300_000,
    hookTimeout: 900_000,
    fileParallelism: false,
  },
});
