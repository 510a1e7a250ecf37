import assert from 'node:assert/strict';
import { tokens } from '../../../src/marketplace/contract/account.ts';
import { createEmployerSource } from '../../../src/marketplace/employer/create-employer-source.ts';
import { createPlatformSource } from '../../../src/marketplace/platform/create-platform-source.ts';
import { fixedLinks, type Source } from '../../../src/marketplace/source.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { type FakeNetwork, openFakeNetwork } from '../fetched.ts';
import type { Mutator } from '../mutator.ts';
import type { Target } from '../target.ts';
import { address, checkError, makeAnswer, refusals } from './http-answers.ts';
import { bodyOf, type Recording, record } from './recording.ts';

const { signal } = new AbortController();

interface Ids {
  job: string;
  contract: string;
  link: string;
  endpoint: string;
  /** A type of event that endpoints can have. */
  eventType: string;
}

type Run = (source: Source, ids: Ids) => Promise<unknown> | undefined;

/** In the order of recording. */
const operations: Record<string, Run> = {
  createLink: (source, { job }) => source.createLink?.({ externalProjectId: 'lamps', jobId: job }, signal),
  createEndpoint: (source, { eventType }) => createEndpoint(source, eventType),
  createToken: (source) => source.call?.(tokens.create, { name: 'gangway', scopes: [] }, signal),
  reportUsage: (source, { contract }) => source.reportUsage?.(contract, [{ workDate: '2026-03-15' }], signal),
  readGrant: (source) => source.readGrant(signal),
  listLinks: (source) => source.listLinks(signal),
  readLink: (source, { link }) => source.readLink(link, signal),
  listContracts: (source) => source.listContracts({ status: 'active' }, signal),
  listParticipants: (source, { contract }) => source.listParticipants(contract, signal),
  readBudget: (source, { contract }) => source.readBudget(contract, signal),
  listEndpoints: (source) => source.listEndpoints(signal),
  readEndpoint: (source, ids) => source.readEndpoint(ids.endpoint, signal),
  updateEndpoint: (source, ids) => source.updateEndpoint?.(ids.endpoint, { status: 'ACTIVE' }, signal),
  redeliver: (source, ids) => source.redeliver?.(ids.endpoint, undefined, signal),
  findDeviations: (source) => source.findDeviations(signal),
  readUpdates: (source) => source.readUpdates?.(null, signal),
  listTokens: (source) => source.listTokens?.(signal),
  listPendingPayments: (source) => source.listPendingPayments?.(signal),
  readPublications: (source, { job }) => source.readPublications?.([job], signal),
  revokeToken: (source) => source.call?.(tokens.revoke, { tokenId: 't1' }, signal),
  deleteLink: (source, { link }) => source.deleteLink?.(link, signal),
  deleteEndpoint: (source, ids) => source.deleteEndpoint(ids.endpoint, signal),
};

const createEndpoint = (source: Source, eventType: string) =>
  source.createEndpoint({ url: 'https://bridge.example/webhooks/acme', eventTypes: [eventType] }, signal);

/** The field that has the records, for each list. */
const recordsOf: Record<string, string> = {
  listLinks: 'projectLinks',
  listContracts: 'contracts',
  listEndpoints: 'webhooks',
  listTokens: 'tokens',
  listPendingPayments: 'payments',
};

export const platformApi = toTarget('answers of the platform API', async () => {
  const sandbox = openSandbox();
  const { baseUrl } = await sandbox.start();
  const { installId, token } = sandbox.createInstall({ piiConsent: true });
  const { id: job } = sandbox.createJob({ installId });
  const toSource = (at: string) => createPlatformSource({ baseUrl: at, token, pacing });
  const link = await toSource(baseUrl).createLink?.({ externalProjectId: 'signs', jobId: job }, signal);
  const { contractId: contract } = sandbox.hire({ jobId: job });
  const ids = { job, contract, link: link?.id ?? '', eventType: 'contract.started' };
  return { sandbox, baseUrl, token, toSource, ids };
});

export const employerApi = toTarget('answers of the employer API', async () => {
  const sandbox = openSandbox();
  const { employerBaseUrl: baseUrl } = await sandbox.start();
  const { accountId, token } = sandbox.createAccount();
  const { id: job } = sandbox.createJob({ accountId });
  const links = fixedLinks([[job, 'signs']]);
  const toSource = (at: string) => createEmployerSource({ baseUrl: at, token, pacing, links });
  const { contractId: contract } = sandbox.hire({ jobId: job });
  sandbox.billContract(contract);
  const pages = [{ title: 'Start' }, { title: 'More', parent: 0 }];
  sandbox.publishManual(sandbox.createManual(accountId, { bindings: [{ targetId: job }], pages }).manualId);
  const ids = { job, contract, link: '', eventType: 'contract.created' };
  return { sandbox, baseUrl, token, toSource, ids };
});

/** The same ids and times at each run, so that an input can be repeated. */
const openSandbox = () => createSandbox({ timeScale: 0, seed: 'fuzz', clock: createFakeClock() });

/** A marketplace with one of each record. */
interface Api {
  sandbox: Sandbox;
  baseUrl: string;
  token: string;
  ids: Omit<Ids, 'endpoint'>;
  toSource(baseUrl: string): Source;
}

function toTarget(name: string, openApi: () => Promise<Api>): Target {
  return {
    name,
    inputs: { long: 20_000, short: 150 },
    reaches: ['read', 'invalid', 'unavailable'],
    // Some requests are retried after half a second or more.
    atOnce: 300,
    async open() {
      const { sandbox, baseUrl, toSource, ...api } = await openApi();
      const ids: Ids = { ...api.ids, endpoint: '' };
      const recording = await record(async () => {
        const source = toSource(baseUrl);
        ids.endpoint = (await createEndpoint(source, ids.eventType)).endpoint.id;
        for (const run of Object.values(operations)) await run(source, ids)?.catch(() => undefined);
      });
      await sandbox.stop();
      const network = openFakeNetwork();
      const { pathname } = new URL(baseUrl);
      const replayed = {
        recording,
        ids,
        token: api.token,
        toSource: (host: string) => toSource(`http://${host}${pathname}`),
      };
      return { judge: (chance) => judge(chance, network, replayed), close: network.close };
    },
  };
}

const pacing = { requestsPerSecond: 1e6, burst: 1e6 };
/** The most pages of a list, three tries each, two lists at most. */
const mostRequests = 6100;

interface Replayed {
  recording: Recording;
  ids: Ids;
  token: string;
  toSource(host: string): Source;
}

async function judge(
  chance: Mutator,
  network: FakeNetwork,
  { recording, ids, token, toSource }: Replayed,
): Promise<string> {
  const [name, run] = chance.pick(Object.entries(operations));
  const bodies: unknown[] = [];
  let requests = 0;
  const isEndless = chance.oneIn(400);
  const host = network.serve((request) => {
    requests += 1;
    if (requests > mostRequests) return new Response(null, { status: 404 });
    if (!isEndless && chance.oneIn(12)) return makeAnswer(chance, [...refusals, { error: `${token} of ${address}` }]);
    const { status, text } = bodyOf(recording, request);
    if (text === '') return new Response(null, { status });
    const valid: unknown = JSON.parse(text);
    const body = isEndless ? { ...(valid as object), nextCursor: `page ${requests}` } : valid;
    const bytes = isEndless || chance.oneIn(3) ? Buffer.from(JSON.stringify(body)) : chance.json(body);
    bodies.push(parse(bytes));
    return new Response(bytes, { status });
  });
  try {
    const result = await run(toSource(host), ids);
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
