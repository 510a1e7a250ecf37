import { execFile } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { account as contract } from '../../src/marketplace/contract/account.ts';
import { webhooks } from '../../src/marketplace/contract/events.ts';
import { openAccount } from '../sandbox/account-harness.ts';
import { openReceiver, openWorld, type Received } from '../sandbox/sandbox-harness.ts';
import { body, now, retiredSecret, secret, signatureTable } from '../support/signature-table.ts';
import { installPythonPackage } from './python-package.ts';

/**
 * The marketplace's own client for Python judges the sandbox, and what the receiver makes of signatures: neither was
 * made from our reading of the specification.
 */

const bin = await installPythonPackage('opentrain-client', ['opentrain-ai==0.1.0']);

/**
 * Where the two differ. What the client accepts beyond the receiver is signed rightly all the same: only its form is
 * one that the marketplace never sends.
 */
const differences: Record<string, string> = {
  'the header twice': 'accepts what the receiver calls malformed',
  'the header twice, joined by a proxy': 'accepts what the receiver calls malformed',
  'two headers, the right one second': 'accepts what the receiver calls malformed',
  'a trailing comma': 'accepts what the receiver calls malformed',
  'a space after the comma': 'accepts what the receiver calls malformed',
  'the same t twice': 'accepts what the receiver calls malformed',
  'another t before': 'accepts what the receiver calls malformed',
  'two v1, the first right': 'refuses what the receiver calls valid',
  'bytes that are no text, signed': 'fails with UnicodeDecodeError at what the receiver calls valid',
};

interface Attempt {
  body: string | Uint8Array;
  header: string;
  secrets: readonly string[];
  /** Unix seconds; the present by default. */
  now?: number;
}

describe.skipIf(bin === null)("the marketplace's own client for Python", () => {
  it('registers, lists and deletes a webhook at the sandbox, and reads who it is', async () => {
    const { url, token, accountId } = await openAccount();
    const wanted = { url: 'https://bridge.example.com/hook', event_types: ['contract.created', 'approval.confirmed'] };
    const [me, made, listed] = await call(url, token, [
      ['account', {}],
      ['create', wanted],
      ['list', {}],
    ]);
    expect(me?.answer).toMatchObject({ account: { organizationId: accountId } });
    expect(made?.answer).toMatchObject({ secret: expect.stringMatching(/^whsec_/) });
    expect(listed?.answer).toEqual({ webhooks: [made?.answer.webhook] });
    // What its client reads is what the contract declares.
    for (const [declared, read] of [
      [contract.me, me],
      [webhooks.create, made],
      [webhooks.list, listed],
    ] as const) {
      expect(declared.out.safeParse(read?.answer)).toMatchObject({ success: true });
    }

    const id: string = made?.answer.webhook.id;
    const [deleted, rest, again] = await call(url, token, [
      ['delete', { webhook_id: id }],
      ['list', {}],
      ['delete', { webhook_id: id }],
    ]);
    expect([deleted?.error, rest?.answer]).toEqual([undefined, { webhooks: [] }]);
    expect(again?.error).toMatchObject({ status: 404, code: 'NOT_FOUND', details: { webhookId: id } });
  });

  it('reads the error of each refusal whole', async () => {
    const { url, sandbox, token } = await openAccount();
    const other = sandbox.createAccount({ scopes: ['payments:read'] });
    const wanted = { url: 'https://bridge.example.com/hook', event_types: ['contract.started'] };
    const refusals = [
      ...(await call(url, token, [['create', wanted]])),
      ...(await call(url, other.token, [['list', {}]])),
      ...(await call(url, 'ot_pat_unknown', [['account', {}]])),
    ];
    const text = expect.stringMatching(/./);
    expect(refusals.map(({ error }) => error)).toEqual([
      {
        message: text,
        status: 400,
        code: 'BAD_REQUEST',
        requestId: text,
        details: expect.objectContaining({ field: 'eventTypes' }),
      },
      {
        message: text,
        status: 403,
        code: 'FORBIDDEN',
        requestId: text,
        details: { requiredScopes: ['webhooks:manage'], grantedScopes: ['payments:read'] },
      },
      { message: text, status: 401, code: 'UNAUTHORIZED', requestId: text, details: null },
    ]);
  });

  it('accepts all that the sandbox signs for employers and platforms, and nothing that was changed on the way', async () => {
    const attempts = [...(await deliveriesOfAccount()), ...(await deliveriesOfInstall())];
    expect(attempts.length).toBeGreaterThan(20);
    expect(await verify(attempts)).toEqual(attempts.map(() => true));
    const changed = attempts.map((attempt) => ({ ...attempt, body: `${attempt.body} ` }));
    expect(await verify(changed)).toEqual(changed.map(() => false));
  });

  it('decides as the receiver does on every signature of the table, apart from what is listed', async () => {
    const rows = Object.values(signatureTable).flat();
    const answers = await verify(
      rows.map(({ headers, body: sent = body }) => {
        // HTTP joins a header that comes several times in this way.
        return { body: sent, header: [headers].flat().join(', '), secrets: [secret, retiredSecret], now };
      }),
    );
    const found = rows.flatMap(({ name, expected }, index) => {
      const answer = answers[index];
      if (answer === (expected === 'valid')) return [];
      const says = { true: 'accepts', false: 'refuses' }[String(answer)] ?? `${answer} at`;
      return [[name, `${says} what the receiver calls ${expected}`]];
    });
    process.stdout.write(`\nThe client for Python, of ${rows.length} signatures:\n`);
    for (const [name, difference] of found) process.stdout.write(`  ${name}: ${difference}\n`);
    expect(Object.fromEntries(found)).toEqual(differences);
  });
});

/** An employer's account with ten hires, and text in many scripts. */
async function deliveriesOfAccount(): Promise<Attempt[]> {
  const { sandbox, accountId, jobId, api } = await openAccount();
  const receiver = await openReceiver();
  const types = ['contract.created', 'milestone.status_changed', 'message.received'];
  const made = await api('POST', '/webhooks', { body: { url: receiver.url, eventTypes: types } });
  for (let count = 0; count < 10; count += 1) sandbox.fundMilestone(sandbox.hire({ jobId }).contractId);
  sandbox.raiseNews(accountId, {
    type: 'message.received',
    resourceId: 'msg_1',
    data: { messageId: 'Größe 大 🙂 "\\u2028"' },
  });
  await sandbox.idle();
  return receiver.received.map((received) => toAttempt(received, made.body.secret));
}

async function deliveriesOfInstall(): Promise<Attempt[]> {
  const world = await openWorld();
  const receiver = await openReceiver();
  const { secret: endpointSecret } = await world.subscribe(receiver.url);
  await world.link('streets');
  world.sandbox.hire({ jobId: world.jobId, title: 'Größe 大 🙂' });
  await world.sandbox.idle();
  return receiver.received.map((received) => toAttempt(received, endpointSecret));
}

function toAttempt({ headers, rawBody }: Received, key: string): Attempt {
  return { body: rawBody, header: String(headers['x-opentrain-signature']), secrets: [key] };
}

interface Answered {
  // The assertions of each test say what they expect.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  answer?: any;
  error?: unknown;
}

async function call(url: string, token: string, calls: readonly [string, object][]): Promise<Answered[]> {
  return (await ask({ url, token, calls })) as Answered[];
}

async function verify(attempts: readonly Attempt[]): Promise<unknown[]> {
  return ask({ attempts: attempts.map((one) => ({ ...one, body: Buffer.from(one.body).toString('base64') })) });
}

function ask(question: object): Promise<unknown[]> {
  const script = path.join(import.meta.dirname, 'opentrain_client.py');
  return new Promise((resolve, reject) => {
    const child = execFile(path.join(bin ?? '', 'python'), [script], (error, stdout) => {
      if (error === null) resolve(JSON.parse(stdout));
      else reject(error);
    });
    child.stdin?.end(JSON.stringify(question));
  });
}
