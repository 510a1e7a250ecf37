import { describe, expect, it } from 'vitest';
import { openFakeLabelStudio } from '../../support/label-studio/fake-label-studio.ts';
import { createLabelStudio, person } from '../../support/label-studio/label-studio-harness.ts';

const { signal } = new AbortController();

async function open() {
  const fake = await openFakeLabelStudio();
  const token = await fake.personalToken();
  const adapter = createLabelStudio(fake, { token });
  const count = (line: string) => fake.requests.filter((request) => request === line).length;
  const exchanges = () => count('POST /api/token/refresh/');
  return { fake, token, count, exchanges, find: () => adapter.findMember('1', person(1), signal) };
}

describe('a personal access token', () => {
  it('is exchanged again after access has ended, and the call is repeated', async () => {
    const { fake, find, exchanges, count } = await open();
    await find();
    fake.tokens.endAccess();
    expect(await find()).toBeNull();
    expect([exchanges(), count('GET /api/users/')]).toEqual([2, 3]);
  });

  it('is exchanged again before access ends', async () => {
    const { fake, find, exchanges } = await open();
    fake.tokens.lifeSeconds = 0;
    await find();
    await find();
    expect(exchanges()).toBe(2);
  });

  it('that is revoked fails each call after one retry', async () => {
    const { fake, token, find, exchanges } = await open();
    await find();
    fake.tokens.endAccess();
    fake.tokens.revokePersonal(token);
    await expect(find()).rejects.toMatchObject({ code: 'unauthenticated', status: 401 });
    expect(exchanges()).toBe(2);
  });

  it('is sent only for the exchange', async () => {
    const { fake, token, find } = await open();
    await find();
    expect(fake.sent.filter((header) => header.includes(token))).toEqual([]);
  });
});

describe('a legacy token', () => {
  it('is sent as it is, and a refusal is final', async () => {
    const { fake, exchanges, count } = await open();
    const adapter = createLabelStudio(fake, { token: 'f'.repeat(40) });
    const refused = adapter.findMember('1', person(1), signal);
    await expect(refused).rejects.toMatchObject({ code: 'unauthenticated', status: 401 });
    expect([exchanges(), count('GET /api/users/')]).toEqual([0, 1]);
  });
});
