import { beforeEach, describe, expect, it } from 'vitest';
import type { Source } from '../../src/marketplace/source.ts';
import { openHttpFake, sendJson } from '../support/http-fake.ts';
import { failureOf, signal } from './failure-of.ts';
import type { OpenSite, SourceSite } from './source-suite.ts';

type Question = [string, (source: Source) => Promise<unknown>];

/** Every read of a source. Its failure must never look like an answer. */
const askedOfAll: Question[] = [
  ['readGrant', (source) => source.readGrant(signal)],
  ['listContracts', (source) => source.listContracts({ status: 'active' }, signal)],
  ['listParticipants', (source) => source.listParticipants('con_1', signal)],
  ['readBudget', (source) => source.readBudget('con_1', signal)],
  ['listEndpoints', (source) => source.listEndpoints(signal)],
];

/** Only for a marketplace that stores links. */
const listLinks: Question = ['listLinks', (source) => source.listLinks(signal)];

const tooLarge = 9 * 1024 * 1024;
const refused = { error: 'no', code: 'X', requestId: 'req_1' };
const requestId = 'req_1';

type Refusal = [what: string, answer: object, failure: object];

const refusals: Refusal[] = [
  ['401', { status: 401, body: refused }, { code: 'unauthenticated', status: 401, requestId }],
  ['403', { status: 403, body: refused }, { code: 'forbidden', status: 403, requestId }],
  ['404', { status: 404, body: refused }, { code: 'not_found', status: 404, requestId }],
  [
    '429 with Retry-After',
    { status: 429, body: refused, headers: { 'retry-after': '7' } },
    { code: 'rate_limited', status: 429, retryAfterMs: 7000 },
  ],
  [
    '503 with Retry-After',
    { status: 503, body: refused, headers: { 'retry-after': '7' } },
    { code: 'unavailable', status: 503, retryAfterMs: 7000 },
  ],
  ['a page of HTML', { body: '<html>' }, { code: 'invalid' }],
  ['null', { body: 'null' }, { code: 'invalid' }],
  ['an empty object', { body: {} }, { code: 'invalid' }],
  ['a list', { body: '[]' }, { code: 'invalid' }],
  ['more than it may', { body: ' '.repeat(tooLarge) }, { code: 'invalid' }],
];

/** Fields that people write, or that may be missing: a record must be read without them too. */
const optionalField = /name|title|url|email|date|createdAt|country/i;
const hostile = [7, {}, [], false, 'javascript:alert(1)', 'a\u0000b\u202Ec', 'x'.repeat(100_000), null, undefined];

/** @param holdsLinks whether the marketplace stores the links */
export function describeRefusals(name: string, open: OpenSite, { holdsLinks = true } = {}): void {
  const questions = holdsLinks ? [...askedOfAll, listLinks] : askedOfAll;
  describe(`${name}, when the marketplace refuses`, () => {
    let site: SourceSite;
    let source: Source;
    beforeEach(async () => {
      site = await open();
      source = site.connect({ baseUrl: site.front.baseUrl, timeoutMs: 30_000 });
    });

    describe.each(refusals)('%s', (_, answer, failure) => {
      it.each(questions)('is the failure of %s', async (_name, ask) => {
        site.front.meddle(() => answer);
        expect(await failureOf(ask(source))).toMatchObject(failure);
        expect(site.front.asked()).toHaveLength(1);
      });
    });

    it('asks again after a 500, a few times', async () => {
      site.front.meddle(() => ({ status: 500, body: refused }));
      const failures = await Promise.all(questions.map(([, ask]) => failureOf(ask(source))));
      for (const failure of failures) expect(failure).toMatchObject({ code: 'unavailable', status: 500 });
      expect(site.front.asked()).toHaveLength(3 * questions.length);
    });

    it('is unavailable without an answer in time', async () => {
      site.front.meddle(() => ({ hangs: true }));
      const hasty = site.connect({ baseUrl: site.front.baseUrl, timeoutMs: 30 });
      expect(await failureOf(hasty.readGrant(signal))).toMatchObject({ code: 'unavailable', status: undefined });
    });

    it('follows no redirect', async () => {
      const elsewhere = await openHttpFake((_request, response) => sendJson(response, {}));
      for (const status of [301, 302, 303, 307, 308]) {
        site.front.meddle(() => ({ status, headers: { location: elsewhere.url } }));
        expect(await failureOf(source.readGrant(signal))).toMatchObject({ code: 'invalid', status });
      }
      expect(elsewhere.requests).toEqual([]);
    });

    it('stops at once when it is stopped', async () => {
      site.front.meddle(() => ({ hangs: true }));
      const stopping = new AbortController();
      const asked = source.readGrant(stopping.signal);
      stopping.abort();
      await expect(asked).rejects.toThrow('aborted');
      expect(site.front.asked().length).toBeLessThan(2);
    });

    it('says that a revoked token is refused', async () => {
      site.revokeToken();
      expect(await failureOf(source.readGrant(signal))).toMatchObject({ code: 'unauthenticated', status: 401 });
    });

    it.each(hostile)('reads records whose optional fields are %j', async (value) => {
      const contractId = site.hire('ada');
      site.front.meddle(async ({ answer }) => ({ body: twist(await answer(), value) }));
      const [link] = await source.listLinks(signal);
      const { contracts } = await source.listContracts({ status: 'active' }, signal);
      const [trainer] = await source.listParticipants(contractId, signal);
      expect([link, contracts[0], trainer]).toMatchObject([
        { externalProjectId: 'signs' },
        { id: contractId, status: 'active' },
        { opentrainUserId: 'ada', workEmail: null },
      ]);
      expect(link?.externalProjectUrl ?? null).toBeNull();
      const text = JSON.stringify([link, contracts, trainer]);
      expect([text.includes('\\u0000'), text.length < 10_000]).toEqual([false, true]);
    });
  });
}

/** The same answer with this value in every optional field, or without these fields for undefined. */
function twist(value: unknown, instead: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => twist(one, instead));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, within]) => [key, optionalField.test(key) ? instead : twist(within, instead)]),
  );
}
