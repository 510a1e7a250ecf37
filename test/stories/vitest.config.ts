import { defineConfig } from 'vitest/config';
import { compileOnce } from '../support/compile-once.ts';

compileOnce();

/** Thousands of stories: too long for every change on every desk. */
export default defineConfig({
  test: {
    include: ['test/stories/**/*.stories.ts'],
    globalSetup: ['test/support/postgres-server.ts'],
    testTimeout: 7_200_000,
    hookTimeout: 120_000,
  },
});
