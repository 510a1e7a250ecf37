import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { AppError } from '../../../src/domain/errors.ts';
import { requestJson } from '../../../src/lib/http-client.ts';
import { openFakeNetwork, type Serve } from '../fetched.ts';
import type { Mutator } from '../mutator.ts';
import type { Opened, Target } from '../target.ts';

const secret = 'hunter2/of+acme="x"';
export const address = 'amara.o@opentrain.work';

export const refusals: readonly unknown[] = [
  { error: `${address} may not`, code: 'forbidden', requestId: 'req_7', details: { reason: 'account_claim_required' } },
  {
    error: `wrong token ${secret}`,
    details: { claimUrl: `https://app.example/claim?t=${encodeURIComponent(secret)}` },
  },
  {
    error: 'x',
    details: { reason: 'account_claim_required', claimUrl: 'https://app.example/claim', featureKey: secret },
  },
  { error: 'x', details: { unknownScopes: [address, 'budgets:read', secret] } },
  { error: 'x', details: { unknownScopes: Array.from({ length: 1000 }, (_, index) => `scope:${index}`) } },
  { detail: `Bearer ${secret}` },
  [`${address}, ${secret}`],
];

const times = [
  '7',
  '0',
  '-1',
  '1.5',
  '1e9',
  '9'.repeat(400),
  'Wed, 21 Oct 2026 07:28:00 GMT',
  'soon',
  '٧',
  '2026-03-15',
];

export const httpAnswers: Target = {
  name: 'answers over HTTP',
  inputs: { long: 60_000, short: 500 },
  reaches: ['read', 'invalid', 'unauthenticated', 'forbidden', 'not_found', 'conflict', 'rate_limited', 'unavailable'],
  open,
};

function open(): Opened {
  const network = openFakeNetwork();
  return { judge: (chance) => judge(chance, network.serve), close: network.close };
}

async function judge(chance: Mutator, serve: (answer: Serve) => string): Promise<string> {
  const host = serve(() => makeAnswer(chance, refusals));
  const request = { method: 'GET', url: `http://${host}/`, purpose: 'read it', secrets: [secret] };
  try {
    await requestJson({ ...request, timeoutMs: 10_000, maxBytes: 50_000 });
    return 'read';
  } catch (error) {
    return checkError(error, [secret, address]);
  }
}

/** An answer with a body like those of `corpus`, and any status and `Retry-After`. */
export function makeAnswer(chance: Mutator, corpus: readonly unknown[]): Response {
  const status = chance.pick([200, 301, 400, 401, 403, 404, 408, 409, 422, 429, 500, 503]);
  const after = chance.oneIn(3) ? chance.text(chance.pick(times)) : chance.pick(times);
  const headers = new Headers();
  if (isSendable(after)) headers.set('retry-after', after);
  return new Response(chance.json(chance.pick(corpus)), { status, headers });
}

function isSendable(value: string): boolean {
  return /^[\x20-\xff]*$/.test(value) && !value.includes('\x7f');
}

/** @returns the error's code */
export function checkError(error: unknown, hidden: readonly string[]): string {
  assert.ok(error instanceof AppError, inspect(error));
  const { code, message, requestId = '', retryAfterMs } = error;
  assert.notEqual(code, 'internal', inspect(error));
  for (const text of hidden) assert.ok(!`${message} ${requestId}`.includes(text), message);
  assert.ok(message.length <= 5000, `a message of ${message.length} characters`);
  const isTime = retryAfterMs === undefined || (retryAfterMs >= 0 && retryAfterMs <= 3_600_000);
  assert.ok(isTime, String(retryAfterMs));
  return code;
}
