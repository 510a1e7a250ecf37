import assert from 'node:assert/strict';
import { createEmployerSource } from '../../../src/marketplace/employer/create-employer-source.ts';
import { createPlatformSource } from '../../../src/marketplace/platform/create-platform-source.ts';
import { fixedLinks, type Source } from '../../../src/marketplace/source.ts';
import { type FakeNetwork, openFakeNetwork } from '../fetched.ts';
import type { Mutator } from '../mutator.ts';
import type { Target } from '../target.ts';
import { address, checkError, makeAnswer, refusals } from './http-answers.ts';
import { employerAnswers, platformAnswers, type Routes } from './marketplace-corpus.ts';

const { signal } = new AbortController();
const token = 'ot_pat_hunter2-of-acme';

type Run = (source: Source) => Promise<unknown> | undefined;

const reads: Record<string, Run> = {
  readGrant: (source) => source.readGrant(signal),
  listLinks: (source) => source.listLinks(signal),
  readLink: (source) => source.readLink('l1', signal),
  listContracts: (source) => source.listContracts({ status: 'active' }, signal),
  listParticipants: (source) => source.listParticipants('c1', signal),
  readBudget: (source) => source.readBudget('c1', signal),
  listEndpoints: (source) => source.listEndpoints(signal),
  readEndpoint: (source) => source.readEndpoint('e1', signal),
  findDeviations: (source) => source.findDeviations(signal),
  readUpdates: (source) => source.readUpdates?.(null, signal),
  listTokens: (source) => source.listTokens?.(signal),
  listPendingPayments: (source) => source.listPendingPayments?.(signal),
  readPublications: (source) => source.readPublications?.(['j1'], signal),
  readApproval: (source) => source.readApproval?.('a1', signal),
};

const writes: Record<string, Run> = {
  createLink: (source) => source.createLink?.({ externalProjectId: 'signs' }, signal),
  deleteLink: (source) => source.deleteLink?.('l1', signal),
  reportUsage: (source) => source.reportUsage?.('c1', [{ workDate: '2026-03-15' }], signal),
  createEndpoint: (source) => source.createEndpoint({ url: 'https://b.example/', eventTypes: [] }, signal),
  updateEndpoint: (source) => source.updateEndpoint?.('e1', {}, signal),
  deleteEndpoint: (source) => source.deleteEndpoint('e1', signal),
  redeliver: (source) => source.redeliver?.('e1', undefined, signal),
  endContract: (source) => source.endContract?.('c1', signal),
  createToken: (source) => source.createToken?.({ name: 'gangway', scopes: [], expiresAt: null }, signal),
  revokeToken: (source) => source.revokeToken?.('t1', signal),
};

/** The field that has the records, for each list. */
const recordsOf: Record<string, string> = {
  listLinks: 'projectLinks',
  listContracts: 'contracts',
  listEndpoints: 'webhooks',
  listTokens: 'tokens',
  listPendingPayments: 'payments',
};

const operations = Object.entries({ ...reads, ...writes });

export const platformApi: Target = toTarget('answers of the platform API', ({ baseUrl, pacing }) => ({
  source: createPlatformSource({ baseUrl, token, pacing }),
  routes: platformAnswers,
}));

export const employerApi: Target = toTarget('answers of the employer API', ({ baseUrl, pacing }) => ({
  source: createEmployerSource({ baseUrl, token, pacing, links: fixedLinks([['j1', 'signs']]) }),
  routes: employerAnswers,
}));

interface Api {
  source: Source;
  routes: Routes;
}

function toTarget(name: string, toApi: (options: { baseUrl: string; pacing: typeof unpaced }) => Api): Target {
  return {
    name,
    inputs: { long: 20_000, short: 150 },
    reaches: ['read', 'invalid', 'unavailable'],
    // Some requests are retried after half a second or more.
    atOnce: 300,
    open() {
      const network = openFakeNetwork();
      return { judge: (chance) => judge(chance, network, toApi), close: network.close };
    },
  };
}

const unpaced = { requestsPerSecond: 1e6, burst: 1e6 };
/** The most pages of a list, three tries each, two lists at most. */
const mostRequests = 6100;

async function judge(
  chance: Mutator,
  network: FakeNetwork,
  toApi: (options: { baseUrl: string; pacing: typeof unpaced }) => Api,
): Promise<string> {
  const [name, run] = chance.pick(operations);
  const bodies: unknown[] = [];
  let requests = 0;
  const isEndless = chance.oneIn(400);
  const host = network.serve(({ path }) => {
    requests += 1;
    if (requests > mostRequests) return new Response(null, { status: 404 });
    if (!isEndless && chance.oneIn(12)) return makeAnswer(chance, [...refusals, { error: `${token} of ${address}` }]);
    const valid = bodyOf(api.routes, path);
    const body = isEndless ? { ...(valid as object), nextCursor: `page ${requests}` } : valid;
    const bytes = isEndless || chance.oneIn(3) ? Buffer.from(JSON.stringify(body)) : chance.json(body);
    bodies.push(parse(bytes));
    return new Response(bytes);
  });
  const api = toApi({ baseUrl: `http://${host}/v1`, pacing: unpaced });
  try {
    const result = await run(api.source);
    if (Array.isArray(result) && result.length === 0) checkEmpty(name, bodies);
    checkIds(result);
    return 'read';
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    return checkError(error, [token, address]);
  } finally {
    network.forget(host);
    assert.ok(requests <= mostRequests, `${name} asks without end`);
  }
}

function bodyOf(routes: Routes, path: string): unknown {
  const found = routes.find(([pattern]) => pattern.test(path.replace(/^\/v1/, '')));
  assert.ok(found !== undefined, `nothing is answered at ${path}`);
  return found[1];
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    return undefined;
  }
}

/** Only an empty list may be read as an empty list. */
function checkEmpty(name: string, bodies: readonly unknown[]): void {
  const key = recordsOf[name];
  if (key === undefined || bodies.length === 0) return;
  const lists = bodies.map((body) => Object(body) as Record<string, unknown>);
  const isList = (body: Record<string, unknown>) => Array.isArray(body[key] ?? body['webhookEndpoints']);
  assert.ok(lists.some(isList), `${name} is empty after ${JSON.stringify(bodies).slice(0, 500)}`);
}

function checkIds(value: unknown): void {
  if (typeof value !== 'object' || value === null || value instanceof Map) return;
  for (const [key, inner] of Object.entries(value)) {
    const isId = /^id$|Id$/.test(key) && inner !== null && inner !== undefined;
    if (isId) assert.ok(typeof inner === 'string' && inner !== '' && inner.length <= 200, `${key}: ${String(inner)}`);
    else checkIds(inner);
  }
}
