import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { acts, views } from '../../../src/http/console/serve-pages.ts';
import { sqlite } from '../../support/databases.ts';
import { openJourney } from '../../support/journey.ts';
import { consoleTokens, createVisitor } from '../../support/visitor.ts';
import { actsIn, csrfOf, formsOf, openSignedIn, signIn } from './signed-in.ts';

const metricsToken = 'what-a-scraper-sends-for-them';

const addresses = {
  views: views.map(({ path }) => toAddress(path)),
  acts: [...acts.map(({ path }) => toAddress(path)), '/sign-out'],
};

function toAddress(path: string): string {
  return path.replaceAll(/:\w+/g, '1');
}

describe('the console', () => {
  it('shows nothing to those who are not signed in, and does nothing for them', async () => {
    const { consoleUrl } = await openJourney(sqlite);
    const visitor = createVisitor(consoleUrl);
    for (const address of addresses.views) {
      const answer = await visitor.send(address);
      expect([address, answer.status]).toEqual([address, 303]);
      expect(answer.headers.get('location')).toMatch(/^\/sign-in\?/);
    }
    for (const address of [...addresses.acts, '/changes']) {
      const method = address === '/changes' ? 'GET' : 'POST';
      const answer = await visitor.send(address, { method, ...(method === 'POST' && { body: new URLSearchParams() }) });
      expect([address, answer.status]).toEqual([address, 401]);
    }
  });

  it('leads an operator who signs in to the page that they asked for, and to no other site', async () => {
    const { consoleUrl } = await openJourney(sqlite);
    const visitor = createVisitor(consoleUrl);
    const asked = await visitor.visit('/?day=1');
    expect(asked.path).toBe('/sign-in?back=%2F%3Fday%3D1');
    const page = await visitor.press(asked, 'Sign in', { token: consoleTokens.vera.token });
    expect(page).toMatchObject({ status: 200, path: '/?day=1' });
    expect(page.body).toContain('vera · viewer');

    const directly = ['https://evil.example/', '//evil.example/', '/\\evil.example/', '/\t/evil.example'];
    const aroundDots = ['/..//evil.example', '/.//evil.example', '/%2e//evil.example', '/a/..//evil.example'];
    for (const back of [...directly, ...aroundDots, 'javascript:alert(1)']) {
      const other = createVisitor(consoleUrl);
      const form = await other.visit(`/sign-in?${new URLSearchParams({ back })}`);
      const body = new URLSearchParams({ back, token: consoleTokens.vera.token });
      const answer = await other.send('/sign-in', { method: 'POST', body });
      expect([back, answer.headers.get('location')]).toEqual([back, '/']);
      expect((await other.press(form, 'Sign in', { token: consoleTokens.vera.token })).path).toBe('/');
      const again = await other.send(`/sign-in?${new URLSearchParams({ back })}`);
      expect([back, again.headers.get('location')]).toEqual([back, '/']);
    }
  });

  it('lets viewers see every page and do nothing', async () => {
    const { visitor, home } = await openSignedIn('vera');
    const csrf = csrfOf(home);
    for (const address of addresses.views) {
      const page = await visitor.visit(address);
      // The body of a delivery names people.
      const expected = address.endsWith('/body') ? [403] : [200, 404];
      expect([address, page.status]).toEqual([address, expect.toBeOneOf(expected)]);
      if (!page.type.startsWith('text/html')) continue;
      // Signing out is the only form that changes something.
      expect([address, formsOf(page)]).toEqual([address, ['/sign-out']]);
    }
    for (const { path } of acts) {
      const answer = await visitor.send(toAddress(path), { method: 'POST', body: new URLSearchParams({ csrf }) });
      expect([path, answer.status]).toEqual([path, 403]);
    }
  });

  it('refuses a form that another site sent, or that is of another session', async () => {
    const { visitor, home, consoleUrl } = await openSignedIn('otto');
    const own = csrfOf(home);
    const foreign = csrfOf((await signIn({ consoleUrl }, 'otto')).home);
    const post = (address: string, csrf: string, headers: Record<string, string> = {}) =>
      visitor.send(address, { method: 'POST', body: new URLSearchParams({ csrf }), headers });
    for (const address of addresses.acts) {
      for (const csrf of [foreign, '']) expect((await post(address, csrf)).status).toBe(403);
      for (const origin of ['https://evil.example', 'null']) {
        expect((await post(address, own, { origin })).status).toBe(403);
      }
      expect((await post(address, own, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    }
    expect((await visitor.visit('/')).status).toBe(200);
  });

  it('logs refused tokens, never what was tried, once a minute of each kind, and counts them all', async () => {
    const { consoleUrl, clock, log } = await openJourney(sqlite, { console: { token: metricsToken } });
    const visitor = createVisitor(consoleUrl);
    const signIn = async (token: string) =>
      (await visitor.send('/sign-in', { method: 'POST', body: new URLSearchParams({ token }) })).status;
    const read = async (address: string, token?: string) =>
      (await visitor.send(address, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }))
        .status;
    for (const number of [1, 2, 3]) expect(await signIn(`guess-${number}`)).toBe(401);
    expect(await read('/api/v1/plans', 'guess-4')).toBe(401);
    expect(await read('/api/v1/plans')).toBe(401);
    expect(await read('/metrics', 'guess-5')).toBe(401);
    clock.advance(30_000);
    expect(await signIn('guess-6')).toBe(401);
    expect(await read('/api/v1/plans', consoleTokens.otto.token)).toBe(429);
    clock.advance(30_000);
    expect(await signIn('guess-7')).toBe(401);
    const refused = log.lines().filter(({ msg }) => msg === 'A token was refused');
    expect(refused).toMatchObject([
      { level: 'warn', where: 'console', reason: 'wrong', address: expect.stringContaining('127.0.0.1') },
      { where: 'api', reason: 'wrong' },
      { where: 'api', reason: 'missing' },
      { where: 'metrics', reason: 'wrong' },
      { where: 'api', reason: 'too_many_tries' },
      { where: 'console', reason: 'wrong', alsoRefused: 3 },
    ]);
    expect(log.text()).not.toMatch(/guess-|otto-may/);
    const answer = await visitor.send('/metrics', { headers: { authorization: `Bearer ${metricsToken}` } });
    const counted = (await answer.text()).split('\n').filter((line) => line.startsWith('gangway_token_refusals_total'));
    expect(counted).toEqual([
      'gangway_token_refusals_total{where="console",reason="wrong"} 5',
      'gangway_token_refusals_total{where="api",reason="wrong"} 1',
      'gangway_token_refusals_total{where="api",reason="missing"} 1',
      'gangway_token_refusals_total{where="metrics",reason="wrong"} 1',
      'gangway_token_refusals_total{where="api",reason="too_many_tries"} 1',
    ]);
  });

  it('gives metrics to a stranger’s name only with the token', async () => {
    const open = await openJourney(sqlite);
    expect(await statusFor(`${open.consoleUrl}/metrics`, 'evil.example')).toBe(403);
    expect(await statusFor(`${open.consoleUrl}/metrics`, 'localhost:1')).toBe(200);
    expect(await statusFor(`${open.consoleUrl}/sign-in`, 'localhost:1')).toBe(200);
    const closed = await openJourney(sqlite, { console: { token: metricsToken } });
    const authorization = `Bearer ${metricsToken}`;
    expect(await statusFor(`${closed.consoleUrl}/metrics`, 'gangway')).toBe(401);
    expect(await statusFor(`${closed.consoleUrl}/metrics`, 'gangway', { authorization })).toBe(200);
  });

  it('counts tries behind a trusted proxy by the address of the person, and lets no one wait for others', async () => {
    const { consoleUrl } = await openJourney(sqlite, { console: { trustedProxies: ['127.0.0.1', '::1'] } });
    const visitor = createVisitor(consoleUrl);
    const attempt = async (address: string, token: string) => {
      const headers = { 'x-forwarded-for': address };
      return (await visitor.send('/sign-in', { method: 'POST', body: new URLSearchParams({ token }), headers })).status;
    };
    // What stands before the last address was sent by the person, who can write anything there.
    for (const number of [1, 2, 3, 4, 5]) expect(await attempt(`198.51.100.${number}, 203.0.113.7`, 'wrong')).toBe(401);
    expect(await attempt('198.51.100.6, 203.0.113.7', consoleTokens.otto.token)).toBe(429);
    for (let number = 0; number < 100; number += 1) expect(await attempt(`192.0.2.${number}`, 'wrong')).toBe(401);
    expect(await attempt('203.0.113.8', consoleTokens.otto.token)).toBe(303);
  });

  it.each([
    ['IPv4 with a port', (port: number) => `203.0.113.7:${port}`, '203.0.113.8:50000'],
    ['IPv6 with a port, quoted', (port: number) => `"[2001:db8::1]:${port}"`, '"[2001:db8:0:1::1]:50000"'],
    [
      'an address behind two proxies that write ports',
      (port: number) => `203.0.113.7, 127.0.0.1:${port}`,
      '203.0.113.8',
    ],
  ])(
    'limited no wrong token behind a proxy that writes %s, as each port was another client',
    async (_, from, other) => {
      const { consoleUrl } = await openJourney(sqlite, { console: { trustedProxies: ['127.0.0.1', '::1'] } });
      const visitor = createVisitor(consoleUrl);
      const signIn = async (address: string) => {
        const body = new URLSearchParams({ token: consoleTokens.otto.token });
        return (await visitor.send('/sign-in', { method: 'POST', body, headers: { 'x-forwarded-for': address } }))
          .status;
      };
      // The console and the API count together.
      const askWith = async (address: string, token: string) => {
        const headers = { 'x-forwarded-for': address, authorization: `Bearer ${token}` };
        return (await visitor.send('/api/v1/status', { headers })).status;
      };
      for (const port of [1, 2, 3, 4, 5]) expect(await askWith(from(port), `wrong ${port}`)).toBe(401);
      expect(await signIn(from(6))).toBe(429);
      expect(await signIn(other)).toBe(303);
    },
  );

  it('ends a session with the browser that signs out, and after 12 hours', async () => {
    const { visitor, home, clock } = await openSignedIn('otto');
    expect((await visitor.press(home, 'Sign out')).path).toBe('/sign-in');
    expect((await visitor.visit('/')).path).toMatch(/^\/sign-in/);

    await visitor.signIn('otto');
    clock.advance(12 * 3_600_000);
    expect((await visitor.visit('/')).path).toMatch(/^\/sign-in/);
  });

  it('keeps its cookie from scripts and from other sites', async () => {
    const { consoleUrl } = await openJourney(sqlite);
    const visitor = createVisitor(consoleUrl);
    const body = new URLSearchParams({ token: consoleTokens.otto.token });
    const answer = await visitor.send('/sign-in', { method: 'POST', body });
    expect(answer.headers.getSetCookie()).toEqual([expect.stringMatching(/^gangway=.*; HttpOnly; SameSite=Strict$/)]);
  });

  it.each([
    ['of a trusted proxy', ['127.0.0.1', '::1'], '__Host-gangway', 'console 203.0.113.7'],
    ['of a stranger', ['10.0.0.0/8'], 'gangway', 'console 127.0.0.1'],
  ])('believes what the headers say %s, and no others', async (_, trustedProxies, cookie, origin) => {
    const { consoleUrl, storage } = await openJourney(sqlite, { console: { trustedProxies } });
    const visitor = createVisitor(consoleUrl);
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.7' };
    const send = (path: string, body?: URLSearchParams) =>
      visitor.send(path, { headers, ...(body && { method: 'POST', body }) });
    const answer = await send('/sign-in', new URLSearchParams({ token: consoleTokens.otto.token }));
    const [line = ''] = answer.headers.getSetCookie();
    expect(line.split('=')[0]).toBe(cookie);
    expect(line.includes('; Secure')).toBe(cookie === '__Host-gangway');
    const home = await (await send('/')).text();
    const csrf = /name="csrf" value="([^"]+)"/.exec(home)?.[1] ?? '';
    expect((await send('/do/reconcileNow', new URLSearchParams({ csrf }))).status).toBe(303);
    const [act] = await actsIn({ storage });
    expect(act?.origin.replace('::ffff:', '')).toBe(origin);
  });
});

/** `fetch` does not let its caller choose the host. */
async function statusFor(url: string, host: string, headers: Record<string, string> = {}): Promise<number> {
  return await new Promise((resolve, reject) => {
    const asked = request(url, { headers: { host, ...headers }, setHost: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.once('error', reject).end();
  });
}
