import { defineConfig } from 'vitest/config';

/** Minutes: too long for every change on every desk. */
export default defineConfig({
  test: { include: ['test/orders/**/*.orders.ts'], testTimeout: 600_000 },
});
