import { readFileSync, writeFileSync } from 'node:fs';
import { pages } from './pages.ts';
import { renewPage } from './renew-page.ts';

/** `npm run docs`: writes the parts of pages that are generated from the code. */
for (const [file, generate] of Object.entries(pages)) {
  writeFileSync(file, renewPage(readFileSync(file, 'utf8'), generate));
}
