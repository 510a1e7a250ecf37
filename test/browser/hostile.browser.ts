import { expect, it } from 'vitest';
import { views } from '../../src/http/console/serve-pages.ts';
import { openHiringSite } from '../support/hiring-site.ts';
import { evil, openHostileSite } from '../support/hostile-site.ts';
import { isThorough } from '../support/tries.ts';
import { consoleTokens } from '../support/visitor.ts';
import { inspectPage } from './inspect-page.ts';
import { describeInBrowser, signIn, type Visit } from './open-browser.ts';

/** The browser downloads it and stays on the page. */
const isFile = (path: string) => path.endsWith('.csv') || path === '/deliveries/:delivery/body';

describeInBrowser('text from strangers', (open) => {
  const sites = [
    ['customers', openHostileSite],
    ['hires', () => openHiringSite(evil)],
  ] as const;
  const widths = [390, 1280].slice(0, isThorough ? undefined : 1);

  it.each(sites.flatMap(([name, openSite]) => widths.map((width) => [name, width, openSite] as const)))(
    'runs no script, loads nothing and does not break the layout of any page of %s (%i pixels)',
    async (_, width, openSite) => {
      const { consoleUrl, addressOf } = await openSite();
      const visit = await open(consoleUrl, { width });
      await signIn(visit, consoleTokens.otto.token);
      for (const { path } of views) {
        const address = addressOf(path);
        if (isFile(path) || address === undefined) continue;
        const answer = await visit.page.goto(address);
        expect([address, await elementsIn(visit)]).toEqual([address, 0]);
        if (answer?.status() === 200) await inspectPage(visit);
      }
      // The browser logs an address that is not found.
      expect(visit.complaints.filter((one) => !one.includes('404'))).toEqual([]);
    },
  );

  it('is still only text when an open page updates itself', async () => {
    const { consoleUrl, sandbox, customer, quiet } = await openHostileSite();
    const visit = await open(consoleUrl);
    const { page, complaints } = visit;
    await signIn(visit, consoleTokens.vera.token);
    await page.goto('/access');
    const before = await page.locator('tbody tr').count();
    sandbox.hire({ jobId: customer.jobId });
    await quiet();
    await expect.poll(() => page.locator('tbody tr').count(), { timeout: 200_000 }).toBeGreaterThan(before);
    expect(await elementsIn(visit)).toBe(0);
    expect(complaints).toEqual([]);
  });
});

async function elementsIn({ page }: Visit): Promise<number> {
  return await page.locator('evil-tag, [evil-attr], img, main script').count();
}
