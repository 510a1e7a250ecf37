import { expect, it } from 'vitest';
import { sqlite } from '../../support/databases.ts';
import { openJourney } from '../../support/journey.ts';
import { consoleTokens, createVisitor } from '../../support/visitor.ts';

const minuteMs = 60_000;
const expired = 'That link was used or has expired. Enter your token.';

it('signs in the first who may act, once, however often it was looked at', async () => {
  const { consoleUrl, signInPath } = await openJourney(sqlite);
  for (const method of ['HEAD', 'GET']) {
    expect((await createVisitor(consoleUrl).send(signInPath, { method })).status).toBe(200);
  }
  const visitor = createVisitor(consoleUrl);
  const page = await visitor.visit(signInPath);
  expect(page.text).not.toContain('Home');
  const home = await visitor.press(page, 'Sign in');
  expect(home).toMatchObject({ status: 200, path: '/' });
  expect(home.body).toContain('otto · operator');
  expect(await visitor.visit(signInPath)).toMatchObject({ path: '/' });

  const again = createVisitor(consoleUrl);
  const refused = await again.press(await again.visit(signInPath), 'Sign in');
  expect(refused.status).toBe(401);
  expect(refused.text).toContain(expired);
  expect(await again.visit('/plans')).toMatchObject({ path: '/sign-in?back=%2Fplans' });
  expect(await again.press(refused, 'Sign in', { token: consoleTokens.otto.token })).toMatchObject({ path: '/' });
});

it('signs in for ten minutes', async () => {
  const { consoleUrl, signInPath, clock } = await openJourney(sqlite);
  clock.advance(10 * minuteMs);
  const visitor = createVisitor(consoleUrl);
  expect(await visitor.press(await visitor.visit(signInPath), 'Sign in')).toMatchObject({ status: 401 });
});

it('signs nobody in for a form of another site, and is still there for its person', async () => {
  const { consoleUrl, signInPath, clock } = await openJourney(sqlite);
  clock.advance(10 * minuteMs - 1);
  const visitor = createVisitor(consoleUrl);
  const body = new URLSearchParams({ code: signInPath.replace('/sign-in/', '') });
  const headers = { origin: 'https://evil.example' };
  expect((await visitor.send('/sign-in', { method: 'POST', body, headers })).status).toBe(403);
  expect(await visitor.press(await visitor.visit(signInPath), 'Sign in')).toMatchObject({ status: 200 });
});

it('can be guessed five times a minute, and appears in no log', async () => {
  const { consoleUrl, signInPath, clock, log } = await openJourney(sqlite);
  const visitor = createVisitor(consoleUrl);
  const enter = async (path: string) => visitor.press(await visitor.visit(path), 'Sign in');
  const almost = `${signInPath.slice(0, -1)}${signInPath.endsWith('A') ? 'B' : 'A'}`;
  for (const path of ['/sign-in/a', '/sign-in/otto', almost, `${signInPath}A`, signInPath.slice(0, -1)]) {
    expect([path, (await enter(path)).status]).toEqual([path, 401]);
  }
  expect(await enter(signInPath)).toMatchObject({ status: 429 });
  clock.advance(minuteMs);
  expect(await enter(signInPath)).toMatchObject({ status: 200, path: '/' });
  expect(log.text()).toContain('A token was refused');
  expect(log.text()).not.toContain(signInPath.replace('/sign-in/', '').slice(0, 20));
});
