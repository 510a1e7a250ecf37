import { describe, expect, it } from 'vitest';
import { createVisitor } from '../../support/visitor.ts';
import { openWaitingInvitation } from '../../support/waiting-invitation.ts';

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
    // Whoever sends the login on needs the whole user name.
    expect(shown.text).toContain(trainer.workEmail);
    // Its address shows nothing when it is fetched again, so it does not keep itself up to date.
    expect([list.body.includes('live.js'), shown.body.includes('live.js')]).toEqual([true, false]);

    const again = await visitor.press(list, 'Show once');
    expect([again.status, again.text]).toEqual([409, expect.stringContaining('is not kept')]);
    const later = await visitor.visit('/invitations');
    expect(later.text).toContain('No invitation is waiting.');
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
    expect(list.html.querySelectorAll('main form[method=post]')).toEqual([]);
  });
});
