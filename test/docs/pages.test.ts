import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { pages } from './pages.ts';
import { renewPage } from './renew-page.ts';

it.each(Object.entries(pages))('%s is as the code says; `npm run docs` makes it anew', (file, generate) => {
  const text = readFileSync(file, 'utf8');
  expect(text, 'run `npm run docs`').toBe(renewPage(text, generate));
});
