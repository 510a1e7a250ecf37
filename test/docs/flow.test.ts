import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const steps = readFileSync('docs/flow.md', 'utf8')
  .split('\n')
  .filter((line) => /^\d+\. /.test(line));

it('docs/flow.md has five ways', () => {
  expect(steps.filter((step) => step.startsWith('1. '))).toHaveLength(5);
});

it.each(steps)('is a function that exists: %s', (step) => {
  const [, file = '', name = ''] = /^\d+\. `(src\/[^`]+\.ts)` · `(\w+)`: .+\.$/.exec(step) ?? [];
  expect(existsSync(file), `${file} does not exist: put the new name into docs/flow.md`).toBe(true);
  const declares = new RegExp(`^(export )?(async )?(function\\*?|const) ${name}\\b`, 'm');
  expect(readFileSync(file, 'utf8'), `${file} does not declare ${name}: put the new name into docs/flow.md`).toMatch(
    declares,
  );
});
