import { expect, it } from 'vitest';
import { views } from '../../src/http/console/serve-pages.ts';
import { sqlite } from '../support/databases.ts';
import { openHiringSite } from '../support/hiring-site.ts';
import { openJourney } from '../support/journey.ts';
import { isThorough } from '../support/tries.ts';
import { consoleTokens } from '../support/visitor.ts';
import { inspectPage } from './inspect-page.ts';
import { describeInBrowser, signIn } from './open-browser.ts';
import { openBusySite } from './open-busy-site.ts';

describeInBrowser('every page of the console', (open) => {
  const looks = [[1280, 'light'] as const, [390, 'dark'] as const, [1280, 'dark'] as const, [390, 'light'] as const];

  const sites = [
    ['customers', openBusySite],
    ['hires', openHiringSite],
  ] as const;
  const shown = looks.slice(0, isThorough ? undefined : 2);

  it.each(sites.flatMap(([name, openSite]) => shown.map((look) => [name, ...look, openSite] as const)))(
    'is accessible and loads nothing from other sites (%s, %i pixels, %s)',
    async (_, width, scheme, openSite) => {
      const { consoleUrl, addressOf } = await openSite();
      const visit = await open(consoleUrl, { width, scheme });
      await signIn(visit, consoleTokens.otto.token);
      const { page, complaints } = visit;
      for (const { path } of views) {
        const address = addressOf(path);
        if (address === undefined) continue;
        const answer = await page.goto(address);
        expect([address, answer?.status()]).toEqual([address, 200]);
        await inspectPage(visit);
      }
      expect(complaints).toEqual([]);
    },
  );

  it.each([1280, 390].slice(0, isThorough ? undefined : 1))(
    'says what will appear there while it is empty (%i pixels)',
    async (width) => {
      const { consoleUrl } = await openJourney(sqlite);
      const visit = await open(consoleUrl, { width });
      await signIn(visit, consoleTokens.otto.token);
      const { page, complaints } = visit;
      const empty: string[] = [];
      for (const { path } of views) {
        if (path.includes(':') || path.endsWith('.csv')) continue;
        const answer = await page.goto(path);
        expect([path, answer?.status()]).toEqual([path, 200]);
        await inspectPage(visit);
        const texts = await page.locator('.empty').allInnerTexts();
        expect([path, texts.filter((text) => !text.trim().endsWith('.'))]).toEqual([path, []]);
        if (texts.length > 0) empty.push(path);
      }
      expect(empty).toEqual(expect.arrayContaining(['/access', '/deliveries', '/plans', '/drift', '/work', '/acts']));
      expect(complaints).toEqual([]);
    },
  );
});
