import { defineConfig } from 'vitest/config';
import { compileOnce } from '../support/compile-once.ts';

compileOnce();

/** Whole days of a marketplace: too long for every change on every desk. */
export default defineConfig({
  test: {
    include: ['test/days/**/*.day.ts'],
    globalSetup: ['test/support/postgres-server.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
