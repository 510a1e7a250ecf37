import { expect, it } from 'vitest';
import { sqlite } from '../../support/databases.ts';
import { openEmployerJourney } from '../../support/employer-journey.ts';
import { actsIn, openSignedIn, outcomeOf, signIn } from './signed-in.ts';

it('the token of an own account is replaced, and the old one is revoked', async () => {
  const journey = await openEmployerJourney(sqlite);
  const { sandbox } = journey;
  const { visitor } = await signIn(journey, 'otto');
  expect((await visitor.visit('/installs/own')).text).toContain('Rotate the token');
  const question = await visitor.visit('/do/tokenRotate?install=own&back=/installs/own');
  const pressed = await visitor.press(question, 'Rotate', { keep: 'payments:write, team:read' });
  const done = await outcomeOf(visitor, pressed);
  expect(done).toMatchObject({ status: 200, text: expect.stringContaining('own uses the token') });
  expect(done.body).not.toContain('ot_pat_');
  const [old, made] = sandbox.snapshot().accounts[0]?.tokens ?? [];
  expect([old?.status, made?.status]).toEqual(['revoked', 'active']);
  expect(made?.scopes.slice(-2)).toEqual(['payments:write', 'team:read']);
  const rotate = { action: 'token rotate', subject: 'own', actor: 'otto', before: old?.id };
  expect(await actsIn(journey)).toMatchObject([{ ...rotate, origin: expect.stringMatching(/^console /) }]);
});

it('the token of a platform is not, and a viewer replaces none', async () => {
  const { visitor: operator } = await openSignedIn('otto');
  expect((await operator.visit('/installs/acme')).text).not.toContain('Rotate the token');
  const refused = await operator.press(await operator.visit('/do/tokenRotate?install=acme'), 'Rotate');
  expect(refused.text).toContain('Only the token of your own account can be rotated');
  const { visitor: viewer } = await signIn(await openEmployerJourney(sqlite), 'vera');
  expect((await viewer.visit('/installs/own')).text).not.toContain('Rotate the token');
});
