import { readFileSync, writeFileSync } from 'node:fs';
import { pages } from './pages.ts';
import { renewPage } from './renew-page.ts';

/** `npm run docs`: makes anew what follows from the command line and from the schema. */
for (const [file, generate] of Object.entries(pages)) {
  writeFileSync(file, renewPage(readFileSync(file, 'utf8'), generate));
}
