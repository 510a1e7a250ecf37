import { expect, it } from 'vitest';
import { consoleTokens } from '../support/visitor.ts';
import { describeInBrowser, goTo, signIn, ways } from './open-browser.ts';
import { openBusySite } from './open-busy-site.ts';

describeInBrowser('an operator can use the console:', (open) => {
  it.each(ways)('sign in, and learn that a token is wrong (%s)', async (_, way) => {
    const { consoleUrl } = await openBusySite();
    const { page, complaints } = await open(consoleUrl, way);
    await page.goto('/access?state=active');
    await page.getByLabel('Your token').fill('not-a-token');
    await page.getByRole('button', { name: 'Sign in' }).click();
    expect(await page.getByRole('alert').textContent()).toBe("That token isn't valid.");
    await page.getByLabel('Your token').fill(consoleTokens.vera.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Access', level: 1 }).waitFor();
    expect(new URL(page.url()).search).toBe('?state=active');
    // The answer to a wrong token is 401, which the browser logs.
    expect(complaints.filter((one) => !one.includes('401'))).toEqual([]);
  });

  it.each(ways)('find out why a trainer has access (%s)', async (_, way) => {
    const { consoleUrl, trainers } = await openBusySite();
    const visit = await open(consoleUrl, way);
    const { page, complaints } = visit;
    await signIn(visit, consoleTokens.vera.token);
    await goTo(visit, 'Access');
    await page.getByLabel('trainer, project or work email').fill(trainers.inside);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.waitForURL(/[?&]q=/);
    await page.locator('tbody').getByRole('link').first().click();
    await page.getByText('is on the contract').first().waitFor();
    await page.getByText('Nothing. They can sign in').first().waitFor();
    expect(complaints).toEqual([]);
  });

  it.each(ways)('see what became of a delivery, and replay all that match a filter (%s)', async (_, way) => {
    const { consoleUrl } = await openBusySite();
    const visit = await open(consoleUrl, way);
    const { page, complaints } = visit;
    await signIn(visit, consoleTokens.otto.token);
    await goTo(visit, 'Deliveries');
    await page.getByLabel(/^State/).selectOption('unprocessable');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.waitForURL(/[?&]state=unprocessable/);
    await page.locator('tbody').getByRole('link').first().click();
    await page.getByText('no event 2', { exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Replay all that match, 1,000 at most' }).click();
    await page.getByText('2 will be handled again.').waitFor();
    expect(complaints).toEqual([]);
  });

  it('watch a trainer get in without reloading the page', async () => {
    const { consoleUrl, sandbox, customer, quiet } = await openBusySite();
    const visit = await open(consoleUrl);
    const { page, complaints } = visit;
    await signIn(visit, consoleTokens.vera.token);
    await page.goto('/access?state=active');
    await page.locator('tbody tr').first().waitFor();
    const before = await page.locator('tbody tr').count();
    sandbox.hire({ jobId: customer.jobId });
    await quiet();
    await expect.poll(() => page.locator('tbody tr').count(), { timeout: 60_000 }).toBeGreaterThan(before);
    expect(complaints).toEqual([]);
  });

  it('skip to the content with the keyboard', async () => {
    const { consoleUrl } = await openBusySite();
    const visit = await open(consoleUrl);
    const { page } = visit;
    await signIn(visit, consoleTokens.vera.token);
    await page.goto('/access');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
  });
});
