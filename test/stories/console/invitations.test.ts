import { describe, expect, it } from 'vitest';
import { openWaitingInvitation } from '../../support/waiting-invitation.ts';
import { actsIn, formsOf, signIn } from './signed-in.ts';

describe('invitations', () => {
  it('are shown once to an operator, and never again', async () => {
    const journey = await openWaitingInvitation();
    const { id, trainer, password } = journey;
    expect(password.length).toBeGreaterThan(8);
    const { visitor } = await signIn(journey, 'otto');
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
    expect(await actsIn(journey)).toMatchObject([{ actor: 'otto', action: 'members invitation' }]);
  });

  it('are named to a viewer, who cannot open them', async () => {
    const journey = await openWaitingInvitation();
    const { id, password } = journey;
    const { visitor } = await signIn(journey, 'vera');
    const list = await visitor.visit('/invitations');
    expect(list.text).toContain(id);
    expect(list.body).not.toContain(password);
    expect(formsOf(list)).toEqual(['/sign-out']);
  });
});
