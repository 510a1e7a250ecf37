import { describe, expect, it } from 'vitest';
import { createAdapter } from '../../../src/adapters/load-adapters.ts';
import type { CvatAnswer } from '../../support/cvat-answer.ts';
import { type CvatFakeOptions, openCvatFake } from '../../support/cvat-fake.ts';
import { openHttpFake, sendJson } from '../../support/http-fake.ts';

const { signal } = new AbortController();

async function check(options: CvatFakeOptions = {}, changes: object = {}) {
  const { settings } = await openCvatFake(options);
  return await createAdapter('studio', 'cvat', { ...settings, ...changes }).check(signal);
}

/** Faults, and part of the remedy that the check names. */
const faults: [string, CvatFakeOptions, object, { code: string; says: RegExp }][] = [
  ['a read-only token', { isReadOnly: true }, {}, { code: 'forbidden', says: /without "Read only"/ }],
  ['another token', {}, { token: 'wrong' }, { code: 'unauthenticated', says: /make a new one/ }],
  ['an old version', { version: '2.53.1' }, {}, { code: 'invalid', says: /2\.53\.1: 2\.54 or/ }],
  ['another major', { version: '3.0.0' }, {}, { code: 'invalid', says: /later 2\.x/ }],
  ['no version', { version: 'latest' }, {}, { code: 'invalid', says: /2\.54/ }],
  [
    'an organization that is not there',
    {},
    { organization: 'street' },
    { code: 'not_found', says: /no organization "street"/ },
  ],
  ['a stranger', { ownRole: 'none' }, {}, { code: 'forbidden', says: /owner or maintainer of/ }],
  [
    'a supervisor',
    { ownRole: 'supervisor' },
    {},
    { code: 'forbidden', says: /is a supervisor of .* it must be its owner or a maintainer/ },
  ],
  [
    'a maintainer who is to make maintainers',
    { ownRole: 'maintainer' },
    { role: 'maintainer' },
    { code: 'forbidden', says: /must be its owner$/ },
  ],
];

it('is identified by the time at which its organization was created', async () => {
  const madeAt = ['2026-03-15T12:00:00.000Z', '2026-03-16T12:00:00.000Z', '2026-03-15T12:00:00.000Z'];
  const identities = madeAt.map(async (at) => {
    const { settings } = await openCvatFake({ now: () => new Date(at) });
    return await createAdapter('studio', 'cvat', settings).identify?.(signal);
  });
  const [one, other, restored] = await Promise.all(identities);
  expect(one).toMatch(/^organization \d+ of 2026-03-15T12:00:00.000Z$/);
  expect(other).not.toBe(one);
  expect(restored).toBe(one);
});

describe('the check', () => {
  it('finds nothing wrong for an owner, or a maintainer', async () => {
    await expect(check()).resolves.toEqual([]);
    await expect(check({ ownRole: 'maintainer' })).resolves.toEqual([]);
    await expect(check({}, { role: 'maintainer' })).resolves.toEqual([]);
  });

  it.each(faults)('refuses %s, and says what to do', async (_what, options, changes, fault) => {
    await expect(check(options, changes)).rejects.toMatchObject({
      code: fault.code,
      message: expect.stringMatching(fault.says) as string,
    });
  });

  it('reports a version newer than the known ones, and a token that ends soon', async () => {
    const [newer, ...none] = await check({ version: '2.99.0.alpha' });
    expect([newer?.isFailure, none]).toEqual([false, []]);
    expect(newer?.says).toContain('2.99.0.alpha');
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
    const [ending] = await check({ expiry: inDays(3) });
    expect(ending?.says).toMatch(/expires at \d{4}-\d\d-\d\d/);
    await expect(check({ expiry: inDays(30) })).resolves.toEqual([]);
  });

  it('says that the server records no events, if Gangway should read them', async () => {
    const [found, ...more] = await check({ hasAnalytics: false });
    expect([found?.isFailure, more]).toEqual([false, []]);
    expect(found?.says).toContain('without analytics');
    expect(found?.action).toContain('"analytics": false');
    await expect(check({ hasAnalytics: false }, { analytics: false })).resolves.toEqual([]);
    // A server that does not say is assumed to record them.
    const spoil = (line: string, answer: CvatAnswer) => (line.includes('/plugins') ? { status: 404 } : answer);
    await expect(check({ spoil })).resolves.toEqual([]);
  });

  it('says that "url" is another page or another server', async () => {
    const page = await openHttpFake((_, response) => void response.end('<!doctype html>'));
    const other = await openHttpFake((_, response) => sendJson(response, { status: 'ok' }));
    const none = await openHttpFake((_, response) => sendJson(response, {}, 404));
    const settings = { token: 'x', organization: 'street-signs' };
    const checkAt = (url: string) => createAdapter('studio', 'cvat', { ...settings, url }).check(signal);
    for (const { url } of [page, other, none]) {
      await expect(checkAt(url)).rejects.toThrow('"url" must be where CVAT is opened');
    }
  });

  it('changes nothing', async () => {
    const { settings, requests } = await openCvatFake();
    await createAdapter('studio', 'cvat', settings).check(signal);
    expect(requests.filter(({ line }) => !line.startsWith('GET '))).toEqual([]);
  });
});

describe('the settings', () => {
  const right = { url: 'https://cvat.example.com/', token: 'x', organization: 'lab' };

  it.each([
    [{ url: undefined }, 'tools.studio.url: needs "url"'],
    [{ url: 'http://cvat.example.com' }, 'which needs "allowHttp": true'],
    [{ token: undefined }, 'tools.studio.token: needs "token"'],
    [{ organization: '' }, 'tools.studio.organization: is the short name'],
    [{ organization: 'longer-than-a-slug' }, 'tools.studio.organization: is the short name'],
    [{ role: 'owner' }, 'tools.studio.role: '],
    [{ offboarding: 'delete_user' }, 'offboarding'],
  ])('%j are refused', (wrong, says) => {
    expect(() => createAdapter('studio', 'cvat', { ...right, ...wrong })).toThrow(says);
  });

  it('make one group for all projects, and a work scope for each', () => {
    const adapter = createAdapter('studio', 'cvat', right);
    const link = { externalProjectId: '7', externalProjectName: null };
    expect(adapter.groupFor(link)).toBe('lab');
    expect(adapter.usageScopeFor?.(link)).toBe('7');
    expect(adapter.capabilities).toMatchObject({
      invitation: 'own',
      usage: { counts: ['seconds', 'tasks', 'labels'], outlivesRemoval: true },
    });
    const without = createAdapter('studio', 'cvat', { ...right, analytics: false });
    expect(without.capabilities.usage).toEqual({ counts: ['tasks'], outlivesRemoval: false });
  });
});
