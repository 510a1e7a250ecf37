import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { unavailableReasons } from '../support/second-marketplace/employer-controls.ts';
import { compareDescription, type Description } from './second-reading/compare-description.ts';
import { contractsAndEvents } from './second-reading/contracts-and-events.ts';
import { type Exchange, onGates, type Setting, type Step } from './second-reading/exchange.ts';
import { manualsAndMessages } from './second-reading/manuals-and-messages.ts';
import { type Market, openSandbox, openSecond } from './second-reading/markets.ts';
import { tokensAndJobs } from './second-reading/tokens-and-jobs.ts';

/**
 * The specification was read twice, by whom wrote the sandbox and by whom wrote the second marketplace. Each exchange
 * is had with both.
 */

/** What the sandbox does instead, by section and exchange. The text decides, so each is an error of the sandbox. */
const disagreements: Record<string, string> = {
  'B 4.2: 10 reads from an address': 'reads are counted by token, and not by the address of the client',
};

/** What `openapi.json` of the sandbox says otherwise than the text. */
const describedOtherwise = [
  'GET /payments/pending 200 payments.0 adds paymentUrl',
  'GET /webhooks 200 webhooks.0 adds consecutiveFailures',
  'GET /webhooks/{webhookId} 200 webhook adds consecutiveFailures',
  'POST /contracts/{contractId}/end 200  adds approval',
  'POST /contracts/{contractId}/end 200  adds message',
  'POST /contracts/{contractId}/end 202  adds contractId',
  'POST /contracts/{contractId}/end 202  adds ok',
  'POST /contracts/{contractId}/end 202  adds status',
  'POST /webhooks 201 webhook adds consecutiveFailures',
];

const hourMs = 3_600_000;
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const files = new Map([
  ['text', Buffer.from('<svg/>')],
  ['large', Buffer.concat([png], 4 * 2 ** 20 + 1)],
]);

/** One account of a market and what was made for it: an exchange's braces name it. */
async function openScene(market: Market, account: Setting['account']) {
  const { accountId, token } = market.createAccount(account);
  const stranger = market.createAccount({});
  const made: Record<string, string> = {
    job: market.createJob(accountId),
    foreignJob: market.createJob(stranger.accountId),
  };

  const fill = (text: string): string =>
    text
      .replace(/\{in (\d+)h\}/, (_, hours) => new Date(market.now() + Number(hours) * hourMs).toISOString())
      .replaceAll(/\{(\w+)\}/g, (whole, name) => made[name] ?? whole);

  function fillAll<T>(value: T): T;
  function fillAll(value: unknown): unknown {
    if (typeof value === 'string') return fill(value);
    if (Array.isArray(value)) return value.map((one) => fillAll(one));
    const isPlain = typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
    if (!isPlain) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fillAll(one)]));
  }

  async function ask(request: string, { body, raw, key }: Setting, as: string | undefined) {
    const [method = '', path = ''] = fill(request).split(' ');
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(fillAll(body)));
    const response = await fetch(`${market.host}${path.startsWith('/api/') ? '' : '/api/public/v1'}${path}`, {
      method,
      headers: {
        ...(as !== undefined && { authorization: `Bearer ${as}` }),
        ...(sent !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      ...(sent !== undefined && { body: sent }),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    // biome-ignore lint/suspicious/noExplicitAny: the rows check its content
    const answer: any = isJson ? JSON.parse(bytes.toString()) : bytes;
    return { status: response.status, headers: Object.fromEntries(response.headers), body: answer };
  }

  /** What an answer of the API made, by the names that rows use. */
  // biome-ignore lint/suspicious/noExplicitAny: see above
  function keep(body: any): void {
    const found = {
      ...{ token: body.metadata?.id, secret: body.access_token ?? body.token, claim: body.claim_token },
      ...{ draft: body.jobId, approval: body.approval?.id, topUp: body.topUpId, webhook: body.webhook?.id },
      ...{ cursor: body.nextCursor, workspace: body.workspaces?.[0]?.id },
      conversation: body.contract?.jobDmConversationId,
    };
    for (const [name, id] of Object.entries(found)) if (typeof id === 'string') made[name] = id;
  }

  function attach(what: string): void {
    const bytes = files.get(what) ?? png;
    const unavailable = unavailableReasons.find((reason) => reason === what) ?? null;
    const { messageId, attachmentId } = market.attach(accountId, { bytes, unavailable });
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    Object.assign(made, { message: messageId, attachment: attachmentId, size: String(bytes.length), sha256 });
  }

  const job = made['job'] ?? '';
  const controls: Record<string, (what: string) => unknown> = {
    hire: () => Object.assign(made, { contract: market.hire(job) }),
    fund: () => market.fund(fill('{contract}')),
    bill: () => market.bill(fill('{contract}')),
    resolve: (status) => market.resolve(fill('{approval}'), status === 'confirmed' ? status : 'declined'),
    pay: () => market.pay(fill('{topUp}')),
    propose: (what) => Object.assign(made, { proposal: market.propose(job, what === '') }),
    attach,
    manual() {
      const { manualId, pageId } = market.createManual(accountId);
      Object.assign(made, { manual: manualId, page: pageId });
    },
    use: (name) => Object.assign(made, { secret: made[name] }),
    wait: (hours) => market.wait(Number(hours) * hourMs),
  };

  async function take(step: Step): Promise<void> {
    const [request, body, key] = typeof step === 'string' ? [step] : step;
    const [first = '', ...rest] = request.split(' ');
    if (!/^[A-Z]+$/.test(first)) {
      await controls[first]?.(rest.join(' '));
      return;
    }
    const answer = await ask(request, { body, ...(key !== undefined && { key }) }, token);
    expect([request, answer.status < 300, answer.body]).toEqual([request, true, answer.body]);
    keep(answer.body);
  }

  async function tokenOf(as: Setting['as']): Promise<string | undefined> {
    if (as === 'none') return undefined;
    if (as === 'stranger') return stranger.token;
    if (as === 'secret') return made['secret'];
    if (as === undefined) return token;
    return (await ask('POST /tokens', { body: { scopes: as } }, token)).body.token;
  }

  return { ask, take, tokenOf, fillAll };
}

const codes: Record<number, string> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'CONFLICT',
  429: 'RATE_LIMITED',
};

async function judge(market: Market, { ask: request, setting, status, expected }: Exchange): Promise<void> {
  const { ask, take, tokenOf, fillAll } = await openScene(market, setting.account);
  for (const step of setting.given ?? []) await take(step);
  const { body, headers, ...answer } = await ask(request, setting, await tokenOf(setting.as));
  expect([answer.status, body]).toEqual([status, body]);
  const isEnvelope = status >= 400 && !request.includes('/api/agent/');
  if (isEnvelope) {
    const envelope = { error: expect.any(String), code: expected.code ?? codes[status], requestId: expect.any(String) };
    const { details = {}, ...others } = body;
    expect(others).toEqual(envelope);
    expect(details).toMatchObject(fillAll(expected.details ?? {}));
  }
  for (const [path, names] of Object.entries(expected.fields ?? {})) {
    const record = path.split('.').reduce((value, name) => (name === '' ? value : Object(value)[name]), body);
    expect([path, Object.keys(Object(record)).sort()]).toEqual([path, names.split(' ').sort()]);
  }
  if (expected.text !== undefined) expect(JSON.stringify(body)).toMatch(expected.text);
  if (expected.values !== undefined) expect(body).toMatchObject(fillAll(expected.values));
  expect({ 'content-length': '', ...headers }).toMatchObject(fillAll(expected.headers ?? {}));
}

const tables = { ...tokensAndJobs, ...contractsAndEvents, ...manualsAndMessages };
const exchanges = [...onGates, ...Object.entries(tables)].flatMap(([section, group]) =>
  group.map((exchange) => ({ name: `${section}: ${exchange.says}`, exchange })),
);
const isDifferent = ({ name }: Judged) => name in disagreements;

interface Judged {
  name: string;
  exchange: Exchange;
}

it('has each exchange once, and lists no other', () => {
  const names = exchanges.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  expect(Object.keys(disagreements).filter((name) => !names.includes(name))).toEqual([]);
});

describe('the second marketplace', () => {
  it.each(exchanges)('answers as it is written, $name', async ({ exchange }) => judge(await openSecond(), exchange));
});

describe('the sandbox', () => {
  it.each(exchanges.filter((one) => !isDifferent(one)))('answers as it is written, $name', async ({ exchange }) => {
    await judge(await openSandbox(), exchange);
  });

  it.each(exchanges.filter(isDifferent))('answers otherwise, $name', async ({ exchange }) => {
    await expect(judge(await openSandbox(), exchange)).rejects.toThrow(/^expected/);
  });

  it('is described as it is written', async () => {
    const { host } = await openSandbox();
    const answer = await fetch(`${host}/api/public/v1/openapi.json`);
    const description = (await answer.json()) as Description;
    const known = exchanges.filter(({ name }) => !/^A (4\.1|7):/.test(name));
    const differences = known.flatMap(({ exchange }) => compareDescription(description, exchange));
    expect([...new Set(differences)].sort()).toEqual(describedOtherwise);
  });
});
