import { describe, expect, it } from 'vitest';
import { openDoccanoFake } from '../../support/doccano-fake.ts';
import { doccanoAdapter, doccanoPerson } from '../../support/doccano-harness.ts';

const { signal } = new AbortController();
const person = doccanoPerson('amara');

async function openLogins() {
  const fake = await openDoccanoFake();
  const adapter = doccanoAdapter(fake);
  const logins = () => fake.requests.splice(0).filter(({ line }) => line === 'POST /auth/login/').length;
  return { fake, adapter, logins };
}

describe('the login of the adapter doccano', () => {
  it('is made when it is needed, once for all calls that wait for it', async () => {
    const { adapter, logins } = await openLogins();
    expect(logins()).toBe(0);
    await Promise.all(Array.from({ length: 5 }, () => adapter.findMember('1', person, signal)));
    expect(logins()).toBe(1);
    await adapter.check(signal);
    expect(logins()).toBe(0);
  });

  it('is made again after its token has ended, and the call goes on', async () => {
    const { fake, adapter, logins } = await openLogins();
    await adapter.check(signal);
    fake.endToken(fake.admin.username);
    logins();
    const calls = Array.from({ length: 5 }, () => adapter.findMember('1', person, signal));
    expect(await Promise.all(calls)).toEqual([null, null, null, null, null]);
    expect(logins()).toBeGreaterThan(0);
    await adapter.check(signal);
    expect(logins()).toBe(0);
  });

  it('is made again only once if the account has no right', async () => {
    const { fake, adapter, logins } = await openLogins();
    await adapter.check(signal);
    logins();
    fake.answerWith('GET /users', { status: 403, body: { detail: 'No.' } });
    await expect(adapter.findMember('1', person, signal)).rejects.toMatchObject({ code: 'forbidden', status: 403 });
    const lines = fake.requests.map(({ line }) => line);
    expect(lines).toEqual(['GET /users', 'POST /auth/login/']);
  });

  it('is tried again after it failed', async () => {
    const { fake, adapter } = await openLogins();
    fake.answerWith('POST /auth/login/', { status: 502, body: '<html></html>' });
    await expect(adapter.check(signal)).rejects.toMatchObject({ code: 'unavailable', status: 502 });
    fake.answerWith('POST /auth/login/', { status: 200, body: { key: 'f00d' } });
    await expect(adapter.check(signal)).rejects.toMatchObject({ code: 'forbidden', status: 403 });
  });

  it('does not hold up a call that was given up', async () => {
    const { fake, adapter } = await openLogins();
    fake.loseNextAnswer('POST /auth/login/');
    await expect(adapter.check(AbortSignal.timeout(100))).rejects.toMatchObject({
      code: 'unavailable',
      message: 'Could not log in: no answer in time; does it run, and is "url" right?',
    });
  });

  it('goes on if the call that began it gives up', async () => {
    const { adapter, logins } = await openLogins();
    const controller = new AbortController();
    const given = adapter.findMember('1', person, controller.signal);
    const patient = adapter.findMember('1', person, signal);
    controller.abort();
    await expect(given).rejects.toMatchObject({ code: 'unavailable' });
    expect(await patient).toBeNull();
    expect(logins()).toBe(1);
  });
});

describe('a check of another server than doccano', () => {
  const root = 'is "url" the root of doccano, without "/v1"?';

  it.each([
    ['a page', { status: 200, body: '<!doctype html>' }, `the answer is not JSON; ${root}`],
    ['another API', { status: 200, body: { ok: true } }, `not what was expected; ${root}`],
    [
      'a redirect',
      { status: 302, headers: { location: '/' } },
      'answered 302; "url" must be the address that it redirects to',
    ],
    ['nothing there', { status: 404, body: { detail: 'Not found.' } }, `answered 404: Not found; ${root}`],
  ])('says so: %s', async (_what, answer, says) => {
    const { fake, adapter } = await openLogins();
    fake.answerWith('GET /me', answer);
    const error = await adapter.check(signal).catch((one: unknown) => one as Error);
    expect(error).toMatchObject({ message: expect.stringContaining(says) as string });
  });

  it.each([
    ['a page', { status: 200, body: '<!doctype html>' }],
    ['another API', { status: 200, body: { token: 'x' } }],
    ['no such page', { status: 405, body: '<!doctype html>' }],
  ])('says so at the login: %s', async (_what, answer) => {
    const { fake, adapter } = await openLogins();
    fake.answerWith('POST /auth/login/', answer);
    await expect(adapter.check(signal)).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(/^Could not log in: .*is "url" the root/) as string,
    });
  });
});
