import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { views } from '../../src/console/pages.ts';
import { consoleTokens } from '../support/visitor.ts';
import { describeInBrowser, signIn } from './open-browser.ts';
import { openBusySite } from './open-busy-site.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeResult {
  violations: { id: string; nodes: { html: string }[] }[];
}

/** Where pictures of the pages are left, for those who want to look at them. */
const pictures = process.env['PICTURES'];

describeInBrowser('every page of the console', (open) => {
  it.each([
    [1280, 'light'],
    [1280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const)('can be used by everyone, and loads nothing from elsewhere (%i pixels, %s)', async (width, scheme) => {
    const { consoleUrl, addressOf } = await openBusySite();
    const visit = await open(consoleUrl, { width, scheme });
    await signIn(visit, consoleTokens.otto.token);
    const { page, complaints } = visit;
    for (const { path } of views) {
      const address = addressOf(path);
      if (address === undefined) continue;
      const answer = await page.goto(address);
      expect([address, answer?.status()]).toEqual([address, 200]);
      if (pictures !== undefined) {
        const name = `${address.replaceAll(/\W+/g, '-')}-${width}-${scheme}.png`;
        await page.screenshot({ path: `${pictures}/${name}`, fullPage: true });
      }
      // A wide table is scrolled by itself: the page never is.
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect([address, overflow]).toEqual([address, 0]);
      expect([address, await findFaults(page)]).toEqual([address, []]);
    }
    expect(complaints).toEqual([]);
  });

  async function findFaults(page: Awaited<ReturnType<typeof open>>['page']): Promise<string[]> {
    // The policy of the console lets no page run a script of another; the debugger of the browser may.
    const { violations } = (await page.evaluate(`${axe}; axe.run()`)) as AxeResult;
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  }
});
