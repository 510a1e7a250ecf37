import { expect, it } from 'vitest';
import { sqlite } from '../support/databases.ts';
import { openEmployerJourney, readEveryMs } from '../support/employer-journey.ts';
import { decide } from '../support/hiring-site.ts';
import { until } from '../support/until.ts';
import { consoleTokens } from '../support/visitor.ts';
import { inspectPage } from './inspect-page.ts';
import { act, describeInBrowser, goTo, signIn, ways } from './open-browser.ts';

const text = 'Draw boxes around signs\nEach sign gets one box.\n\nSigns at the edge count too.';

describeInBrowser('an operator with an account of their own', (open) => {
  it.each(ways)('hires a person, pays them, and ends their contract (%s)', async (_, way) => {
    const journey = await openEmployerJourney(sqlite);
    const { sandbox, consoleUrl, roster } = journey;
    await journey.pass(60_000);
    const visit = await open(consoleUrl, way);
    const { page, complaints } = visit;
    await signIn(visit, consoleTokens.otto.token);
    await goTo(visit, 'Hires');
    await page.getByRole('link', { name: 'New hire' }).click();
    await page.getByLabel('Project in your tool').fill('boards');
    await page.getByLabel('Description').fill(text);
    await inspectPage(visit);
    await act(visit, 'Draft the job');
    await page.getByText('The job is drafted.').waitFor();
    await inspectPage(visit);
    await page.getByLabel('How experienced').selectOption('Expert');
    await page.getByLabel('Which types of labels').fill('Boxes, Lines');
    await page.getByLabel('How is the work paid?').selectOption('Pay per hour');
    await act(visit, 'Save');
    await page.getByLabel('How many US dollars').fill('a lot');
    await act(visit, 'Save');
    await page.getByRole('alert').waitFor();
    expect(await page.getByLabel('How many US dollars').inputValue()).toBe('a lot');
    await inspectPage(visit);
    await page.getByLabel('How many US dollars').fill('20');
    await act(visit, 'Save');
    await page.getByText('Nothing is missing').waitFor();
    await inspectPage(visit);
    await act(visit, 'Publish');
    await page.getByText('Nobody has proposed').waitFor();
    await inspectPage(visit);
    const [job] = sandbox.snapshot().jobs.filter(({ title }) => title === 'Draw boxes around signs');
    expect(job?.fields.jobDescription).toBe(text);

    const messages = [{ role: 'candidate', content: 'I have labelled lamps.' } as const];
    const { proposalId, trainer } = sandbox.propose({ jobId: job?.id ?? '', interview: { messages } });
    await page.reload();
    await page.getByRole('link', { name: 'Read and hire' }).click();
    await page.getByText('I have labelled lamps.').waitFor();
    await inspectPage(visit);
    await page.getByRole('link', { name: 'Hire', exact: true }).click();
    await inspectPage(visit);
    await act(visit, 'Confirm');
    const asked = page.getByRole('link', { name: 'a person to confirm it' });
    expect(await asked.getAttribute('href')).toContain('https://app.opentrain.ai/approvals/');
    await inspectPage(visit);
    // It is told of no change, and its connection is lost again and again.
    const silent = { contentType: 'text/event-stream', body: ':\n\n' };
    await page.route('**/changes', (route) => route.fulfill(silent));
    await page.reload();
    const { contractId } = await decide(journey, proposalId, 'confirmed');
    const letIn = async () => {
      await journey.live(60_000);
      return roster()['boards'];
    };
    await until('the trainer is in the tool', letIn, (ids = []) => ids.includes(trainer.opentrainUserId));
    // With JavaScript the open page follows by itself.
    if (!visit.hasScripts) await page.reload();
    await page.getByRole('cell', { name: 'Active' }).waitFor();
    await page.unroute('**/changes');

    await page.getByRole('link', { name: contractId }).click();
    await page.getByRole('link', { name: 'Its milestones at own' }).click();
    await page.getByRole('link', { name: 'Create a milestone' }).click();
    await page.getByLabel('Name').fill('First week');
    await page.getByLabel('Amount').fill('200');
    await inspectPage(visit);
    await act(visit, 'Create');
    await inspectPage(visit);
    await page.getByRole('link', { name: 'Fund' }).click();
    await act(visit, 'Fund');
    await page.getByText('waits until').waitFor();
    await decide(journey, /mst_\w+/.exec(await page.locator('td small').innerText())?.[0] ?? '', 'confirmed');
    await page.reload();
    await page.getByRole('cell', { name: 'Active funded' }).waitFor();
    await page.getByRole('link', { name: 'End the contract' }).click();
    await inspectPage(visit);
    await act(visit, 'End');
    await page.getByText('waits until').waitFor();
    await decide(journey, contractId, 'confirmed');
    await journey.pass(readEveryMs);
    await goTo(visit, 'Hires');
    await page.getByRole('cell', { name: 'Ended' }).waitFor();
    await inspectPage(visit);
    expect(roster()['boards']).toEqual([]);
    // The answer to a wrong price is 400, which the browser logs.
    expect(complaints.filter((one) => !one.includes('400'))).toEqual([]);
  });
});
