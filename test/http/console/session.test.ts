import { randomBytes } from 'node:crypto';
import express from 'express';
import request from 'supertest';
import { describe, expect, it } from 'vitest';
import { createConsoleTokens, createSessions } from '../../../src/http/console/sign-in.ts';
import { createSecretBox } from '../../../src/keys/secret-box.ts';
import type { Role } from '../../../src/operations/operation.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const token = 'a-token-of-twenty-characters';
const key = randomBytes(32);

/** An instance: `/in` opens a session with a token, and `/` returns its operator. */
function openInstance(tokens: Record<string, { token: string; role: Role }>, secretKey = key) {
  const box = createSecretBox(secretKey);
  const owners = createConsoleTokens(new Map(Object.entries(tokens)), box);
  const sessions = createSessions(owners, box, createFakeClock('2026-03-15T12:00:00.000Z'));
  const app = express();
  app.get('/in', (asked, response) => {
    const owner = owners.find(String(asked.query['token']));
    if (owner !== undefined) sessions.open(asked, response, owner);
    response.json({});
  });
  app.get('/', (asked, response) => void response.json(sessions.read(asked)?.operator ?? null));
  return request(app);
}

async function signIn(instance: ReturnType<typeof openInstance>): Promise<string> {
  const { headers } = await instance.get('/in').query({ token });
  return String(headers['set-cookie']).split(';')[0] ?? '';
}

describe('a session', () => {
  const ada = { ada: { token, role: 'viewer' as const } };

  it('is valid on every instance with the same key, with the current role', async () => {
    const cookie = await signIn(openInstance(ada));
    const other = openInstance({ ada: { token, role: 'operator' } });
    expect((await other.get('/').set('cookie', cookie)).body).toEqual({ name: 'ada', role: 'operator' });
  });

  it.each([
    ['the token was changed', openInstance({ ada: { token: 'another-token-of-ada', role: 'viewer' } })],
    ['the token was removed', openInstance({ ben: { token: 'the-only-token-there-is', role: 'viewer' } })],
    ['the token now has another name', openInstance({ ben: { token, role: 'operator' } })],
    ['the secret key is another one', openInstance(ada, randomBytes(32))],
  ])('is over when %s', async (_, instance) => {
    const cookie = await signIn(openInstance(ada));
    expect((await instance.get('/').set('cookie', cookie)).body).toBeNull();
  });

  it('is not opened by a cookie that was changed, cut off or invented', async () => {
    const instance = openInstance(ada);
    const cookie = await signIn(instance);
    const last = cookie.endsWith('A') ? 'B' : 'A';
    for (const other of [`${cookie.slice(0, -6)}${last.repeat(6)}`, cookie.slice(0, -9), 'gangway=', 'gangway=x', '']) {
      expect((await instance.get('/').set('cookie', other)).body).toBeNull();
    }
  });
});
