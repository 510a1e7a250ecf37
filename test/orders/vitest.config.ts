import { defineConfig } from 'vitest/config';

/** This takes minutes: too long to run for every change. */
export default defineConfig({
  test: { include: ['test/orders/**/*.orders.ts'], testTimeout: 600_000 },
});
