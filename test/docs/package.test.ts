import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { builtInAdapters } from '../../src/adapters/built-in-adapters.ts';
import { proseOf } from './markdown.ts';

const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: string[] };

/** What `npm pack` takes, without the built files. It always takes the first two. */
const packed = new Set(['README.md', 'LICENSE', ...files.flatMap((entry) => globSync([entry, `${entry}/**`]))]);

it('the package has the pages that its pages, the program and the alert rules point to', () => {
  const pages = [...packed].filter((file) => file.endsWith('.md'));
  const linked = pages.flatMap((page) =>
    [...proseOf(page).matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g)]
      .map(([, target = '']) => target)
      // Sources are in the repository alone.
      .filter((target) => !target.startsWith('https://') && !target.endsWith('.ts'))
      .map((target) => ({ from: page, to: path.join(path.dirname(page), target) })),
  );
  const named = [...globSync('src/**/*.ts'), ...globSync('deploy/**/*.*')].flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\b(?:docs|deploy|src)\/[\w/${}.-]*\.md\b/g)].flatMap(([to]) =>
      builtInAdapters.map((adapter) => ({ from: file, to: to.replace(/\$\{\w+\}/, adapter) })),
    ),
  );
  expect(pages.length).toBeGreaterThan(10);
  expect(named.map(({ to }) => to)).toContain('src/adapters/cvat/README.md');
  expect([...linked, ...named].filter(({ to }) => !packed.has(path.normalize(to)))).toEqual([]);
});
