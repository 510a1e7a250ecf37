import { expect, it } from 'vitest';
import { sqlite } from '../support/databases.ts';
import { openGuidelineJourney, openStudio } from '../support/guidelines/guideline-journey.ts';
import { openHeldPlan } from '../support/held-plan.ts';
import { openJourney } from '../support/journey.ts';
import { consoleTokens } from '../support/visitor.ts';
import { openWaitingInvitation } from '../support/waiting-invitation.ts';
import { inspectPage } from './inspect-page.ts';
import { act, describeInBrowser, goTo, signIn, ways } from './open-browser.ts';

describeInBrowser('an operator can act:', (open) => {
  it.each(ways)('approve half of a plan (%s)', async (_, way) => {
    const { consoleUrl, ids, size, quiet } = await openHeldPlan();
    const visit = await open(consoleUrl, way);
    const { page, complaints } = visit;
    await signIn(visit, consoleTokens.otto.token);
    await goTo(visit, 'Removals on hold');
    await page.getByRole('link', { name: '1', exact: true }).click();
    const boxes = page.getByRole('checkbox');
    await page.waitForURL('**/plans/1');
    expect(await boxes.count()).toBe(4);
    for (const id of ids.slice(0, 2)) await page.locator(`input[value="${id}"]`).check();
    await inspectPage(visit);
    await act(visit, 'Approve selected');
    await inspectPage(visit);
    await act(visit, 'Remove 2 people');
    // The outcome appears without a reload by hand, with or without JavaScript.
    await page.getByText('Approved 2 removals.').waitFor();
    await inspectPage(visit);
    await page.goto('/plans/1');
    await page.getByRole('cell', { name: 'approved' }).first().waitFor();
    await quiet();
    await page.reload();
    await page.getByRole('cell', { name: 'Removed' }).first().waitFor();
    expect(await page.getByRole('cell', { name: 'Removed' }).count()).toBe(2);
    const left = await boxes.evaluateAll((all) => all.map((box) => box.getAttribute('value')));
    expect(left.sort()).toEqual(ids.slice(2).sort());
    expect(size()).toBe(2);
    expect(complaints).toEqual([]);
  });

  it.each(ways)('hand out an invitation, which is shown only once (%s)', async (_, way) => {
    const { consoleUrl, id, password } = await openWaitingInvitation();
    const visit = await open(consoleUrl, way);
    const { page, complaints } = visit;
    await signIn(visit, consoleTokens.otto.token);
    await goTo(visit, 'Invitations');
    await page.getByRole('button', { name: `Show once: the invitation of ${id}` }).click();
    await page.getByText(password, { exact: true }).waitFor();
    await inspectPage(visit);
    await page.getByRole('link', { name: 'Back' }).click();
    await page.getByText('No invitation is waiting.').waitFor();
    expect(await page.content()).not.toContain(password);
    expect(complaints).toEqual([]);
  });

  it.each(ways)('connect a customer and let a trainer in (%s)', async (_, way) => {
    const { consoleUrl, sandbox, quiet, roster } = await openJourney(sqlite, { projects: ['acme-*'] });
    const { installId, token } = sandbox.createInstall();
    const { id: job } = sandbox.createJob({ installId });
    const visit = await open(consoleUrl, way);
    const { page, complaints } = visit;
    await signIn(visit, consoleTokens.otto.token);
    await goTo(visit, 'Customers');
    await page.getByRole('link', { name: 'Connect a customer' }).click();
    await page.getByLabel('Customer', { exact: true }).fill('beta');
    await page.getByLabel('Projects').fill('beta-*');
    await page.getByLabel('Token').fill('ot_ptk_not-the-token');
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('alert').waitFor();
    // The form keeps what was entered, except the token.
    expect(await page.getByLabel('Customer', { exact: true }).inputValue()).toBe('beta');
    expect(await page.getByLabel('Token').inputValue()).toBe('');
    await inspectPage(visit);

    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('link', { name: 'Back' }).click();
    await page.getByRole('heading', { name: 'beta', level: 1 }).waitFor();
    await page.getByLabel('Project').fill('beta-1');
    await page.getByLabel('Job').fill(job);
    await act(visit, 'Link the project');
    await quiet();
    await page.reload();
    await page.getByRole('link', { name: 'Unlink beta-1' }).waitFor();
    const [trainer] = sandbox.hire({ jobId: job }).trainers;
    const id = trainer?.opentrainUserId ?? '';
    await act(visit, 'Sync now');
    await quiet();
    await page.goto('/access?install=beta&state=active');
    await page.getByRole('cell', { name: id }).first().waitFor();
    expect(roster()['beta-1']).toEqual([id]);
    // The answer to a wrong token is 401, which the browser logs.
    expect(complaints.filter((one) => !one.includes('401'))).toEqual([]);
  });

  it.each(ways)('publish the guidelines of an own account in its tool and rotate its token (%s)', async (_, way) => {
    const { consoleUrl, sandbox, signs, tool, write } = await openGuidelineJourney(sqlite, await openStudio(), {
      own: {},
    });
    write('Mark every sign.', signs.id).publish();
    const visit = await open(consoleUrl, way);
    const { page, complaints } = visit;
    await signIn(visit, consoleTokens.otto.token);
    await page.goto('/installs/own');
    await page.getByText('No project was checked yet.').waitFor();
    await inspectPage(visit);
    await page.getByRole('link', { name: 'Sync the guidelines now' }).click();
    await inspectPage(visit);
    await act(visit, 'Sync');
    await page.getByRole('cell', { name: 'written' }).waitFor();
    expect(await tool.shown(signs.project)).toEqual(['Signs', 'Mark every sign.']);
    await inspectPage(visit);

    await page.getByRole('link', { name: 'Back' }).click();
    await page.goto('/installs/own');
    await page.getByText('publication 1 of').waitFor();
    await page.getByRole('link', { name: 'Rotate the token' }).click();
    await page.getByLabel('Keep').fill('payments:write');
    await inspectPage(visit);
    await act(visit, 'Rotate');
    await page.getByText(/uses the token/).waitFor();
    expect(await page.content()).not.toContain('ot_pat_');
    expect(sandbox.snapshot().accounts[0]?.tokens.at(-1)?.scopes).toContain('payments:write');
    expect(complaints).toEqual([]);
  });
});
