import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Plugin } from 'vitest/config';

/** Text that stands exactly once in a source file, and what tests load instead. */
export interface SourceChange {
  file: string;
  find: string;
  replace: string;
}

/** @throws Error where a text does not stand exactly once in its file any more */
export function changedSources(name: string, changes: readonly SourceChange[]): Plugin {
  return {
    name,
    enforce: 'pre',
    buildStart() {
      const missing = changes.filter(({ file, find }) => readFileSync(file, 'utf8').split(find).length !== 2);
      const list = missing.map(({ file, find }) => `“${find}” in ${file}`).join();
      if (missing.length > 0) throw new Error(`Nothing to change for ${name}: ${list}`);
    },
    transform: (code, id) =>
      changes
        .filter(({ file }) => id === path.resolve(file))
        .reduce((changed, { find, replace }) => changed.replace(find, () => replace), code),
  };
}
