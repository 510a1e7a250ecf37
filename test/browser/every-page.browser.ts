import { expect, it } from 'vitest';
import { views } from '../../src/console/pages.ts';
import { consoleTokens } from '../support/visitor.ts';
import { inspectPage } from './inspect-page.ts';
import { describeInBrowser, signIn } from './open-browser.ts';
import { openBusySite } from './open-busy-site.ts';

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
      await inspectPage(visit);
    }
    expect(complaints).toEqual([]);
  });
});
