import { expect, it } from 'vitest';
import { acts, views } from '../../../src/http/console/serve-pages.ts';
import { type Journey, openJourney } from '../../support/journey.ts';
import { askRaw } from '../../support/raw-http.ts';
import { describeAnyDialect, tries } from '../../support/tries.ts';
import { cookieOf, createVisitor } from '../../support/visitor.ts';

/** What is sent for an id or a name in an address, as it stands. */
const hostileIds = [
  '__proto__',
  'constructor',
  'toString',
  '%00',
  '1%00',
  '%0d%0aSet-Cookie:%20a=b',
  '%0a',
  '..%2f..%2fpackage.json',
  '%2e%2e%2f%2e%2e%2fpackage.json',
  '..%5c..%5cpackage.json',
  '%ff',
  '%c0%ae%c0%ae',
  '%ed%a0%80',
  '%',
  '%zz',
  '%F0%9F%92%A9',
  '0',
  '-1',
  '1e3',
  '0x10',
  '1.0',
  '01',
  '%31',
  '999999999999999',
  '9223372036854775808',
  `${'9'.repeat(400)}`,
  `${'a'.repeat(5000)}`,
  '%3Cscript%3E',
  "'%20or%20'1'='1",
  '%25%5f',
  '*',
];

/** What is sent for a value of a form or a query. */
const hostileValues = [
  '',
  '\0',
  'a\r\nSet-Cookie: a=b',
  '__proto__',
  '-1',
  '0',
  '999999999999999',
  '9'.repeat(400),
  '1e400',
  'NaN',
  "' or '1'='1",
  '%_\\',
  '../../etc/passwd',
  '<script>alert(1)</script>',
  '\u202e\u2028\uffff',
  '😀'.repeat(300),
  '9999-99-99',
  '2026-02-31',
  '+275760-09-14',
];

/** Every name that a page takes from its query. */
const parameters = ['cursor', 'state', 'install', 'tool', 'project', 'type', 'q', 'since', 'until', 'actor', 'days'];

const oddQueries = [
  'state[]=active',
  'state[__proto__]=x',
  '__proto__[x]=1',
  'cursor=1&cursor=2',
  'state=active&state=',
  'q=%00',
  'q=%ed%a0%80',
  'q=%',
  '&&&===',
  `q=${'a'.repeat(5000)}`,
  '%00=1',
];

const oddPaths = [
  '/assets/..%2f..%2fpackage.json',
  '/assets/..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd',
  '/assets/%2e%2e/%2e%2e/package.json',
  '/assets/../../package.json',
  '/assets/..\\..\\package.json',
  '/assets/..%5c..%5cpackage.json',
  '/assets/style.css%00.png',
  '/assets/style.css%00',
  '/assets/....//....//package.json',
  '/assets/',
  '/assets',
  '/assets/%2fetc%2fpasswd',
  '/..%2fpackage.json',
  '//',
  '///',
  '//evil.example/access',
  '/\\evil.example',
  '/%',
  '/%00',
  '/%ff',
  '/?%',
  '/#',
  '*',
  'http://evil.example/access',
  'http://[/',
  `/${'a'.repeat(12_000)}`,
  `/${'%2e%2e/'.repeat(500)}etc/passwd`,
];

/** All values where tests are thorough; at a desk a twentieth, beginning where the one before ended. */
function createSampler(): <T>(values: readonly T[]) => T[] {
  let next = 0;
  return (values) => Array.from({ length: tries(values.length) }, () => values[next++ % values.length] as never);
}

describeAnyDialect('requests that no browser sends', (dialect) => {
  function expectRefused(line: string, answer: string): void {
    const [status = '', ...headers] = (answer.split('\r\n\r\n')[0] ?? '').split('\r\n');
    const code = Number(status.split(' ')[1]);
    expect([line, code]).toEqual([line, expect.toBeOneOf([200, 303, 400, 403, 404, 405, 414, 431])]);
    // Neither a header that came in with it, nor a file that is none of the console, nor an element.
    expect([line, headers.filter((header) => /^set-cookie/i.test(header))]).toEqual([line, []]);
    expect([line, /root:x:|"license": "MIT"|<script>alert/.test(answer)]).toEqual([line, false]);
    const location = headers.find((header) => /^location:/i.test(header)) ?? 'location: /';
    expect([line, location]).toEqual([line, expect.stringMatching(/^location: \/(?![/\\])/i)]);
  }

  /** What the log calls a failure of the console itself. */
  function failuresIn({ log }: Journey): unknown[] {
    return log.lines().filter((line) => JSON.stringify(line).includes('A page of the console failed'));
  }

  it('get an answer that says so, for every view and whatever stands in its address', async () => {
    const journey = await openJourney(dialect);
    const cookie = await cookieOf(journey.consoleUrl, 'otto');
    const sample = createSampler();
    const addresses = views.flatMap(({ path }) => {
      if (!path.includes(':')) return [];
      return sample(hostileIds).map((id) => path.replaceAll(/:\w+/g, () => id));
    });
    for (const address of [...oddPaths, ...addresses]) {
      for (const headers of [{ cookie }, {}])
        expectRefused(address, await askRaw(journey.consoleUrl, `GET ${address}`, headers));
    }
    expect(failuresIn(journey)).toEqual([]);
  });

  it('get an answer that says so, for every view and whatever stands in its query', async () => {
    const journey = await openJourney(dialect);
    const cookie = await cookieOf(journey.consoleUrl, 'otto');
    const queries = parameters.flatMap((name) =>
      hostileValues.map((value) => `${new URLSearchParams({ [name]: value })}`),
    );
    const sample = createSampler();
    for (const { path } of views) {
      if (path.includes(':')) continue;
      for (const query of sample([...oddQueries, ...queries])) {
        const line = `GET ${path}?${query}`;
        expectRefused(line, await askRaw(journey.consoleUrl, line, { cookie }));
      }
    }
    expect(failuresIn(journey)).toEqual([]);
  });

  it('get an answer that says so, for every act and whatever stands in its form', async () => {
    const journey = await openJourney(dialect);
    const visitor = createVisitor(journey.consoleUrl);
    const home = await visitor.signIn('otto');
    const csrf = home.html.querySelector('[name=csrf]')?.getAttribute('value') ?? '';
    const fields = [...parameters, 'install', 'token', 'projects', 'job', 'membership', 'relink', 'acceptOrphans'];
    const sample = createSampler();
    for (const [address, value] of acts.flatMap(({ path }) => sample(hostileForms(path)))) {
      const form = new URLSearchParams({ csrf, ...Object.fromEntries(fields.map((name) => [name, value])) });
      const answer = await visitor.send(address, { method: 'POST', body: form });
      expect([address, value, answer.status]).toEqual([address, value, expect.toBeOneOf([303, 400, 403, 404, 409])]);
      await answer.body?.cancel();
    }
    expect(failuresIn(journey)).toEqual([]);
  });
});

/** Addresses of an act, and what is sent there in every field. */
function hostileForms(path: string): [address: string, value: string][] {
  if (!path.includes(':')) return hostileValues.map((value) => [path, value]);
  return hostileIds.map((id, index) => {
    // An install that there is, in every other address.
    const named = index % 2 === 0 ? path.replace(':install', 'acme') : path;
    return [named.replaceAll(/:\w+/g, () => id), hostileValues[index % hostileValues.length] ?? ''];
  });
}
