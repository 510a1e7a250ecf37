import { expect, it } from 'vitest';
import { sqlite } from '../support/databases.ts';
import { liveThrough, openJourney } from '../support/journey.ts';
import { until } from '../support/until.ts';
import { consoleTokens } from '../support/visitor.ts';
import { createWorkingTool } from '../support/working-tool.ts';
import { inspectPage } from './inspect-page.ts';
import { describeInBrowser, goTo, signIn, ways } from './open-browser.ts';

const hourMs = 3_600_000;

/** A day for which the tool counted more than 24 hours, so that the work is held. */
async function openDiffering() {
  const tool = createWorkingTool();
  const journey = await openJourney(sqlite, { adapter: tool.adapter, piiConsent: true });
  const { sandbox, customer, clock, storage, quiet, log } = journey;
  const day = clock.now().toISOString().slice(0, 10);
  await customer.link('street-signs');
  const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId });
  sandbox.fundMilestone(contractId, { volume: 100 });
  await quiet();
  tool.work(day, trainers[0]?.opentrainUserId ?? '', 30);
  await liveThrough(storage, clock, hourMs);
  const reports = async () => log.lines().filter(({ msg }) => msg === 'Usage was reported').length;
  await until('the work is reported', reports, (count) => count > 0);
  await quiet();
  return { ...journey, day, contractId };
}

describeInBrowser('an operator who checks work', (open) => {
  it.each(ways)('finds the day on which tool and marketplace differ, and why (%s)', async (_, way) => {
    const { consoleUrl, day, contractId } = await openDiffering();
    const visit = await open(consoleUrl, way);
    const { page, complaints } = visit;
    await signIn(visit, consoleTokens.vera.token);
    await page.locator('.todo a[href^="/work/held"]').click();
    await page.waitForURL('**/work/held');
    await inspectPage(visit);
    await page.getByRole('cell', { name: day }).first().waitFor();
    await goTo(visit, 'Work');
    await page.waitForURL('**/work');
    const row = page.locator('tr', { hasText: contractId });
    await row.getByText('held: more than 24 hours').first().waitFor();
    await inspectPage(visit);
    expect(complaints).toEqual([]);
  });
});
