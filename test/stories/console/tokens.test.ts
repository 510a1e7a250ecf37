import { expect, it } from 'vitest';
import { sqlite } from '../../support/databases.ts';
import { openEmployerJourney } from '../../support/employer-journey.ts';
import { openJourney } from '../../support/journey.ts';
import { createVisitor } from '../../support/visitor.ts';

it('the token of an own account is replaced, and the old one is revoked', async () => {
  const { sandbox, consoleUrl, storage } = await openEmployerJourney(sqlite);
  const visitor = createVisitor(consoleUrl);
  await visitor.signIn('otto');
  expect((await visitor.visit('/installs/own')).text).toContain('Rotate the token');
  const question = await visitor.visit('/do/tokenRotate?install=own&back=/installs/own');
  const done = await visitor.press(question, 'Rotate', { keep: 'payments:write, team:read' });
  expect(done).toMatchObject({ status: 200, path: '/installs/own' });
  expect(done.body).not.toContain('ot_pat_');
  const [old, made] = sandbox.snapshot().accounts[0]?.tokens ?? [];
  expect([old?.status, made?.status]).toEqual(['revoked', 'active']);
  expect(made?.scopes.slice(-2)).toEqual(['payments:write', 'team:read']);
  const acts = storage.database.kysely.selectFrom('audit').selectAll();
  expect(await acts.execute()).toMatchObject([
    {
      action: 'token rotate',
      subject: 'own',
      actor: 'otto',
      origin: expect.stringMatching(/^console /),
      before: old?.id,
    },
  ]);
});

it('the token of a platform is not, and a viewer replaces none', async () => {
  const platform = await openJourney(sqlite);
  const operator = createVisitor(platform.consoleUrl);
  await operator.signIn('otto');
  expect((await operator.visit('/installs/acme')).text).not.toContain('Rotate the token');
  const refused = await operator.press(await operator.visit('/do/tokenRotate?install=acme'), 'Rotate');
  expect(refused.text).toContain('Only the token of your own account can be rotated');
  const { consoleUrl } = await openEmployerJourney(sqlite);
  const viewer = createVisitor(consoleUrl);
  await viewer.signIn('vera');
  expect((await viewer.visit('/installs/own')).text).not.toContain('Rotate the token');
});
