import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { acts, views } from '../../../src/http/console/serve-pages.ts';
import { askRaw, statusOf } from '../../support/raw-http.ts';
import { cookieOf, createVisitor } from '../../support/visitor.ts';
import { actsIn, csrfOf, openSignedIn } from './signed-in.ts';

const assets = ['style.css', 'parts.css', 'table.css', 'live.js', 'page.js', 'icon.svg', 'idiomorph.js'];

/** Every address of the console, so that a new page is tested with its first commit. */
const gets = [...views.map(({ path }) => toAddress(path)), '/changes', '/sign-in', '/nothing/here'];
const posts = [...acts.map(({ path }) => toAddress(path)), '/sign-in', '/sign-out'];

function toAddress(path: string): string {
  return path.replaceAll(':install', 'acme').replaceAll(/:\w+/g, '1');
}

async function readWhole(answer: Response): Promise<Response> {
  await answer.arrayBuffer();
  return answer;
}

async function open() {
  const journey = await openSignedIn('otto');
  const cookie = await cookieOf(journey.consoleUrl, 'otto');
  return { ...journey, csrf: csrfOf(journey.home), acts: () => actsIn(journey), cookie };
}

describe('every address of the console', () => {
  it.each([
    ['a name that a stranger points at it', { host: 'evil.example' }],
    ['such a name with a port', { host: 'evil.example:80' }],
    ['such a name that begins like an own address', { host: '127.0.0.1.evil.example' }],
    ['such a name that begins like an own name', { host: 'localhost.evil.example' }],
    ['a name that a stranger points at it, forwarded', { host: 'evil.example', 'x-forwarded-host': 'localhost' }],
    ['no name', { host: '' }],
    ['a name with a path', { host: 'localhost/../evil.example' }],
    ['two names', { host: 'localhost, evil.example' }],
  ])('is refused by %s', async (_, headers) => {
    const { consoleUrl, cookie, acts } = await open();
    const lines = [...gets.map((path) => `GET ${path}`), ...posts.map((path) => `POST ${path}`), 'GET /assets/live.js'];
    for (const line of lines) {
      const answer = await askRaw(consoleUrl, line, { cookie, 'content-length': '0', ...headers });
      expect([line, statusOf(answer)]).toEqual([line, 403]);
    }
    expect(await acts()).toEqual([]);
  });

  it('answers by no other method, and nothing is done by a link', async () => {
    const { consoleUrl, cookie, acts } = await open();
    const actsOnly = posts.filter((path) => !gets.includes(path));
    const viewsOnly = gets.filter((path) => !posts.includes(path) && path !== '/changes');
    const lines = [
      ...actsOnly.map((path) => `GET ${path}`),
      ...viewsOnly.map((path) => `POST ${path}`),
      ...['PUT', 'OPTIONS', 'PATCH', 'DELETE', 'TRACE', 'QUERY'].flatMap((method) => {
        return [...gets, ...posts].map((path) => `${method} ${path}`);
      }),
    ];
    for (const line of lines) {
      const headers = { cookie, 'content-length': '0', 'x-http-method-override': 'POST' };
      const answer = await askRaw(consoleUrl, line, headers);
      expect([line, statusOf(answer)]).toEqual([line, 404]);
    }
    expect(await acts()).toEqual([]);
  });

  it('refuses what is sent by another site or as anything but a form', async () => {
    const { visitor, csrf, acts } = await open();
    const types = ['text/plain', 'application/json', 'multipart/form-data; boundary=x'];
    for (const path of posts) {
      if (path === '/sign-in') continue;
      for (const type of types) {
        const body = `csrf=${csrf}`;
        const answer = await visitor.send(path, { method: 'POST', body, headers: { 'content-type': type } });
        expect([path, type, answer.status]).toEqual([path, type, 415]);
      }
      for (const site of ['cross-site', 'same-site']) {
        const body = new URLSearchParams({ csrf });
        const answer = await visitor.send(path, { method: 'POST', body, headers: { 'sec-fetch-site': site } });
        expect([path, site, answer.status]).toEqual([path, site, 403]);
      }
    }
    expect(await acts()).toEqual([]);
  });

  it('wrote an error and a stack for each asset it sent, and answered 500 for a range beyond its end', async () => {
    const { visitor, consoleUrl, log } = await open();
    const written = vi.spyOn(console, 'error');
    onTestFinished(() => written.mockRestore());
    const stranger = createVisitor(consoleUrl);
    const expectQuiet = () => {
      expect(written.mock.calls).toEqual([]);
      expect(log.lines().filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
    };
    const paths = [...gets.filter((path) => path !== '/changes'), ...assets.map((name) => `/assets/${name}`)];
    for (const path of paths) {
      for (const one of [visitor, stranger]) {
        const { status } = await one.send(path).then(readWhole);
        expect([path, status]).toEqual([path, expect.toBeOneOf([200, 303, 404])]);
      }
    }
    expectQuiet();
    for (const name of assets) {
      const statusFor = async (headers: Record<string, string>) =>
        (await stranger.send(`/assets/${name}`, { headers }).then(readWhole)).status;
      expect(await statusFor({ range: 'bytes=99999999-' })).toBe(200);
      expect(await statusFor({ range: 'bytes=0-1' })).toBe(200);
      expect(await statusFor({ 'if-match': '"another"' })).toBe(412);
    }
    expectQuiet();
  });

  it('can be shown by no other site, is kept by no cache, and is what it says it is', async () => {
    const { visitor, customer, sandbox, quiet } = await open();
    await customer.link('street-signs');
    sandbox.hire({ jobId: customer.jobId });
    await quiet();
    for (const path of [...gets, '/assets/nothing.css']) {
      const { headers, body } = await visitor.send(path);
      await body?.cancel();
      expect([path, Object.fromEntries(headers)]).toMatchObject([
        path,
        {
          'content-security-policy':
            "default-src 'none';script-src 'self';style-src 'self';img-src 'self';connect-src 'self';form-action 'self';base-uri 'none';frame-ancestors 'none'",
          'x-frame-options': 'DENY',
          'x-content-type-options': 'nosniff',
          'cross-origin-resource-policy': 'same-origin',
          'referrer-policy': 'same-origin',
          'cache-control': 'no-store',
        },
      ]);
      const told = ['x-powered-by', 'access-control-allow-origin'].map((name) => headers.get(name));
      expect([path, ...told]).toEqual([path, null, null]);
    }
    // What is downloaded is never shown as a page.
    for (const path of ['/access.csv', '/work.csv', '/drift/groups.csv', '/deliveries/1/body']) {
      const { status, headers, body } = await visitor.send(path);
      await body?.cancel();
      const asFile = expect.stringMatching(/^attachment; filename="?[\w.-]+"?$/);
      expect([path, status, headers.get('content-disposition')]).toEqual([path, 200, asFile]);
    }
  });
});
