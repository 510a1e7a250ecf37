import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type ClientOptions, createClient } from '../../src/marketplace/client.ts';
import { identity } from '../../src/marketplace/contract/account.ts';
import { contracts, credits } from '../../src/marketplace/contract/contracts.ts';
import { jobs } from '../../src/marketplace/contract/jobs.ts';
import { refusals } from '../../src/marketplace/contract/refusals.ts';
import { detailsOf, reasonOf } from '../../src/marketplace/refusal.ts';
import { openHttpFake, sendJson } from '../support/http-fake.ts';
import { createLogLines } from '../support/log-lines.ts';
import { failureOf, signal } from './failure-of.ts';

const token = 'ot_pat_secret-of-acme';

/** A marketplace that refuses everything with this. */
async function open(status: number, body: unknown, more: Partial<ClientOptions> = {}) {
  const fake = await openHttpFake((_, response) => sendJson(response, body, status));
  return { client: createClient({ baseUrl: fake.url, token, ...more }), ...fake };
}

describe('a refusal in the envelope', () => {
  it('tells its reason, its details and what it means', async () => {
    const details = { reason: 'contract_ended', endedAt: '2026-03-15' };
    const { client } = await open(409, { code: 'CONFLICT', requestId: 'req_1', details });
    const failure = await failureOf(client.call(contracts.end, { contractId: 'c1' }, signal));
    expect(failure).toMatchObject({
      code: 'conflict',
      status: 409,
      requestId: 'req_1',
      message: 'Could not end a contract: answered 409: the contract has ended',
    });
    expect([reasonOf(failure), detailsOf(failure)]).toEqual(['contract_ended', details]);
  });

  it.each(Object.keys(refusals))('has the words of the catalogue for %s', async (reason) => {
    const [status, means] = refusals[reason as keyof typeof refusals];
    const { client } = await open(status, { error: 'No', details: { reason } });
    const failure = await failureOf(client.call(jobs.publish, { jobId: 'j1' }, signal));
    expect(failure.message).toBe(`Could not publish a job: answered ${status}: No; ${means}`);
    expect(reasonOf(failure)).toBe(reason);
  });

  it('links the page where a card is added, if it is a web page', async () => {
    const reason = 'payment_method_required';
    const ask = async (billingUrl: string) => {
      const { client } = await open(409, { error: 'No', details: { reason, billingUrl } });
      return (await failureOf(client.call(credits.topUp, { amountUsd: 20 }, signal))).message;
    };
    expect(await ask('https://app.example/billing')).toMatch(/cover it; see https:\/\/app\.example\/billing$/);
    expect(await ask('javascript:alert(1)')).toMatch(/cover it$/);
  });

  it.each([
    ['a new word', { reason: 'moon_phase' }],
    ['a name that every object has', { reason: 'constructor' }],
    ['no word', { reason: 7 }],
  ])('has no reason for %s, and keeps its details', async (_, details) => {
    const { client } = await open(409, { error: 'No', details });
    const failure = await failureOf(client.call(contracts.end, { contractId: 'c1' }, signal));
    expect(failure.message).toBe('Could not end a contract: answered 409: No');
    expect([reasonOf(failure), detailsOf(failure)]).toEqual([undefined, details]);
  });

  it.each([['<html>'], [null], [[]], [{ details: 'no' }], [{ error: {} }]])('may be odd: %j', async (body) => {
    const { client } = await open(403, body);
    const failure = await failureOf(client.call(contracts.end, { contractId: 'c1' }, signal));
    expect([failure.code, reasonOf(failure)]).toEqual(['forbidden', undefined]);
  });

  it('keeps no details that are too long', async () => {
    const { client } = await open(400, { details: { text: 'x'.repeat(70_000) } });
    const failure = await failureOf(client.call(contracts.end, { contractId: 'c1' }, signal));
    expect([failure.status, detailsOf(failure)]).toEqual([400, undefined]);
  });
});

describe('a refusal of OAuth', () => {
  it.each([
    [{ error: 'authorization_pending' }, 'authorization_pending; nobody has claimed the account yet'],
    [
      { error: 'expired_token', error_description: 'The claim has expired.' },
      'The claim has expired.; the claim has expired',
    ],
  ])('tells its reason: %j', async (body, says) => {
    const { client } = await open(400, body);
    const input = { grant_type: 'claim', claim_token: 'ot_clm_0123456789' };
    const failure = await failureOf(client.call(identity.token, input, signal));
    expect(failure).toMatchObject({ code: 'invalid', message: expect.stringContaining(`answered 400: ${says}`) });
    expect(reasonOf(failure)).toBe(body.error);
  });

  it('is sent no token, and quotes no claim token', async () => {
    const secret = 'claim-0123456789';
    const { client, requests } = await open(400, { error: 'invalid_grant', error_description: `no ${secret}` });
    const failure = await failureOf(client.call(identity.claim, { claim_token: secret }, signal));
    expect(requests).toEqual([{ line: 'POST /identity/claim', authorization: undefined }]);
    expect(inspect(failure, { showHidden: true, depth: 9 })).not.toContain(secret);
  });
});

it('is no refusal if nothing came', async () => {
  const client = createClient({ baseUrl: 'http://127.0.0.1:9', token });
  const failure = await failureOf(client.call(contracts.get, { contractId: 'c1' }, signal));
  expect([reasonOf(failure), detailsOf(failure)]).toEqual([undefined, undefined]);
});

describe('an error in a log', () => {
  it('has neither details nor secrets', async () => {
    const [link, transcript] = ['https://pay.example/checkout/1', 'We spoke about the candidate'];
    const details = { reason: 'message_policy_blocked', policy: transcript, checkoutUrl: link, token };
    const { client } = await open(403, { error: `No, ${token}`, details });
    const failure = await failureOf(client.call(contracts.end, { contractId: 'c1' }, signal));
    expect(detailsOf(failure)).toEqual(details);
    const { logger, text } = createLogLines();
    logger.error({ err: failure, error: failure, nested: { failure } }, 'A call failed');
    for (const hidden of [link, transcript, token]) {
      expect(text()).not.toContain(hidden);
      expect(inspect(failure, { showHidden: true, depth: 9 })).not.toContain(hidden);
      expect(JSON.stringify(failure)).not.toContain(hidden);
    }
    expect(text()).toContain("the message breaks the marketplace's policy");
  });

  it('does not quote an answer that was not expected', async () => {
    const checkoutUrl = 'https://pay.example/checkout/1';
    const fake = await openHttpFake((_, response) =>
      sendJson(response, { topUpId: {}, checkoutUrl, topUp: checkoutUrl }),
    );
    const client = createClient({ baseUrl: fake.url, token });
    const failure = await failureOf(client.call(credits.topUp, { amountUsd: 20 }, signal));
    const { logger, text } = createLogLines();
    logger.error({ err: failure }, 'A call failed');
    expect(failure.code).toBe('invalid');
    expect(text()).not.toContain(checkoutUrl);
  });
});
