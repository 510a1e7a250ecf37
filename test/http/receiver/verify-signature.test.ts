import fc from 'fast-check';
import Stripe from 'stripe';
import { describe, expect, it } from 'vitest';
import { isSignedWith, type RefusalReason, readSignature } from '../../../src/http/receiver/delivery-headers.ts';
import { anyText } from '../../support/any-text.ts';
import { sign } from '../../support/sign.ts';
import { body, now, retiredSecret, secret, signatureTable } from '../../support/signature-table.ts';
import { tries } from '../../support/tries.ts';

describe.each(Object.entries(signatureTable))('a signature and its %s', (_, attempts) => {
  it.each(attempts)('$name: $expected', ({ headers, body: sent = body, expected }) => {
    expect(verify({ headers, body: sent })).toBe(expected);
  });
});

describe('a signature', () => {
  it('is refused if no secret is configured', () => {
    expect(verify({ headers: sign(body, secret, now), secrets: [] })).toBe('no_secret_matched');
  });

  it('is not valid for another install', () => {
    expect(verify({ headers: sign(body, secret, now), secrets: ['whsec_of-another-install'] })).toBe(
      'no_secret_matched',
    );
  });

  it('is refused in a header that is too long, even if the part within the limit is valid', () => {
    const longest = `${sign(body, secret, now)},v0=`.padEnd(2048, '0');
    expect(verify({ headers: longest })).toBe('valid');
    for (const more of ['0', ',t=1', `,${sign(body, secret, now)}`]) {
      expect(verify({ headers: `${longest}${more}` })).toBe('malformed');
    }
  });

  it('is accepted whatever the order of the secrets', () => {
    for (const order of [
      [secret, retiredSecret],
      [retiredSecret, secret],
    ]) {
      expect(verify({ headers: sign(body, secret, now), secrets: order })).toBe('valid');
    }
  });
});

describe("stripe's implementation of the same scheme", () => {
  const stripe = new Stripe('sk_test_none');

  it('makes headers that are accepted', () => {
    const headers = stripe.webhooks.generateTestHeaderString({
      payload: body,
      secret,
      timestamp: now,
    });
    expect(verify({ headers })).toBe('valid');
  });

  it('agrees on every body, secret and time within the tolerance, and on every change to them', () => {
    // Payload and secret are never empty, because stripe refuses those.
    const someSecret = fc.string({ maxLength: 60 }).map((text) => `whsec_s${text}`);
    const request = fc.record({
      payload: anyText({ minLength: 1, maxLength: 300 }),
      signer: someSecret,
      holder: fc.option(someSecret, { nil: undefined }),
      added: fc.constantFrom('', '', ' ', '\n', '}'),
      age: fc.integer({ min: -300, max: 400 }),
    });
    const check = fc.property(request, ({ payload, signer, holder = signer, added, age }) => {
      const timestamp = now - age;
      const headers = stripe.webhooks.generateTestHeaderString({
        payload,
        secret: signer,
        timestamp,
      });
      const received = `${payload}${added}`;
      const ours = verify({ headers, body: received, secrets: [holder] });
      expect(ours === 'valid').toBe(accepts(received, headers, holder));
    });
    fc.assert(check, { numRuns: tries(500) });
  });

  it('accepts timestamps in the future, which are refused here', () => {
    const headers = sign(body, secret, now + 301);
    expect(accepts(body, headers, secret)).toBe(true);
    expect(verify({ headers })).toBe('too_new');
  });

  function accepts(payload: string, header: string, holder: string): boolean {
    try {
      const receivedAt = now * 1000;
      const { signature } = stripe.webhooks;
      return signature?.verifyHeader(payload, header, holder, 300, undefined, receivedAt) ?? false;
    } catch {
      return false;
    }
  }
});

function verify(request: {
  headers: string | string[];
  body?: string | Uint8Array;
  secrets?: string[];
}): RefusalReason | 'valid' {
  const { headers, body: sent = body, secrets: listed = [secret, retiredSecret] } = request;
  const read = readSignature([headers].flat(), now);
  if (read.outcome === 'refused') return read.reason;
  const isValid = isSignedWith(listed, read.signature, Buffer.from(sent));
  return isValid ? 'valid' : 'no_secret_matched';
}
