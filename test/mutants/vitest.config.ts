import path from 'node:path';
import { defineConfig, type Plugin } from 'vitest/config';
import { mutants } from './mutants.ts';

/** Changes the one place as the module is loaded: the file stays as it is. */
const mutant = mutants[Number(process.env['MUTANT'] ?? 'none')];

const changed: Plugin = {
  name: 'mutant',
  enforce: 'pre',
  transform: (code, id) =>
    mutant !== undefined && id === path.resolve(mutant.file) ? code.replace(mutant.find, () => mutant.replace) : code,
};

export default defineConfig({
  plugins: [changed],
  // The cache does not know of mutants.
  test: { include: ['test/**/*.test.ts'], fsModuleCache: false, isolate: false, testTimeout: 120_000 },
});
