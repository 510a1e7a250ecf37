import { describe, expect, it } from 'vitest';
import { sqlite } from '../../support/databases.ts';
import { openJourney } from '../../support/journey.ts';
import { createVisitor } from '../../support/visitor.ts';
import { openWaitingInvitation } from '../../support/waiting-invitation.ts';

const minuteMs = 60_000;

async function openWithLogin() {
  const waiting = await openWaitingInvitation();
  return { ...waiting, visitor: createVisitor(waiting.consoleUrl) };
}

describe('invitations', () => {
  it('are shown once to an operator, and never again', async () => {
    const { visitor, id, trainer, password, storage } = await openWithLogin();
    expect(password.length).toBeGreaterThan(8);
    await visitor.signIn('otto');
    const list = await visitor.visit('/invitations');
    expect(list.text).toContain(id);
    expect(list.body).not.toContain(password);
    const shown = await visitor.press(list, 'Show once');
    expect(shown.text).toContain(password);
    expect(shown.body).not.toContain(trainer.workEmail);
    // Its address shows nothing when it is fetched again, so it does not keep itself up to date.
    expect([list.body.includes('live.js'), shown.body.includes('live.js')]).toEqual([true, false]);

    const again = await visitor.press(list, 'Show once');
    expect([again.status, again.text]).toEqual([409, expect.stringContaining('is not kept')]);
    const later = await visitor.visit('/invitations');
    expect(later.text).toContain('No invitation waits.');
    expect(again.body + later.body).not.toContain(password);
    const acts = await storage.database.kysely.selectFrom('audit').selectAll().execute();
    expect(acts).toMatchObject([{ actor: 'otto', action: 'members invitation' }]);
  });

  it('are named to a viewer, who cannot open them', async () => {
    const { visitor, id, password } = await openWithLogin();
    await visitor.signIn('vera');
    const list = await visitor.visit('/invitations');
    expect(list.text).toContain(id);
    expect(list.body).not.toContain(password);
    expect(list.html.querySelectorAll('main form, main button')).toEqual([]);
  });
});

describe('the forecast', () => {
  it('names who waits, and who is to leave and when', async () => {
    const journey = await openJourney(sqlite);
    const { customer, sandbox, quiet, pass, consoleUrl } = journey;
    const linkId = await customer.link('street-signs');
    const { trainers } = sandbox.hire({ jobId: customer.jobId });
    await quiet();
    await pass(2 * 60 * minuteMs);
    const visitor = createVisitor(consoleUrl);
    expect((await visitor.signIn('vera')).status).toBe(200);
    expect((await visitor.visit('/forecast')).text).toContain('No trainer is to leave.');
    await customer.api('DELETE', `/project-links/${linkId}`);
    await quiet();
    for (const days of [7, 30]) {
      const page = await visitor.visit(`/forecast?days=${days}`);
      expect(page.text).toContain(`The next ${days} days`);
      const row = page.text.split('\n').find((line) => line.includes(trainers[0]?.opentrainUserId ?? '-'));
      expect(row).toMatch(/^\d{4}-\d\d-\d\d .*the link to the project was removed$/);
    }
  });
});
