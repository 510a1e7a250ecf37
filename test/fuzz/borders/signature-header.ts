import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createMarketplaceHeaders, isSignedWith, readSignature } from '../../../src/http/receiver/delivery-headers.ts';
import { digestOf } from '../../support/sign.ts';
import { body, now, retiredSecret, secret } from '../../support/signature-table.ts';
import type { Mutator } from '../mutator.ts';
import type { Target } from '../target.ts';

const secrets = [secret, retiredSecret];
const { signaturesOf, deliveryIdOf, toStored } = createMarketplaceHeaders(['X-OpenTrain-', 'X-Service-']);

export const signatureHeader: Target = {
  name: 'signature header',
  inputs: { long: 250_000, short: 1000 },
  reaches: ['valid', 'missing', 'malformed', 'too_old', 'too_new', 'no_secret_matched'],
  open: () => ({ judge }),
};

function judge(chance: Mutator): string {
  const sent = chance.oneIn(8) ? chance.bytes(Buffer.from(body)) : Buffer.from(body);
  const headers = makeHeaders(chance, sent);
  const received = chance.oneIn(12) ? chance.bytes(sent) : sent;
  const values = signaturesOf(headers);
  const read = readSignature(values, now);
  const isValid = read.outcome === 'read' && isSignedWith(secrets, read.signature, received);
  const judged = isValid ? 'valid' : 'no_secret_matched';
  const verdict = read.outcome === 'refused' ? read.reason : judged;
  assert.equal(verdict, bySpecification(values, received), JSON.stringify(values).slice(0, 500));

  const stored: unknown = JSON.parse(toStored(headers));
  assert.ok(Object.values(stored as object).every((value) => typeof value === 'string' && value.length <= 500));
  const id = deliveryIdOf(headers);
  assert.ok(id === null || (id !== '' && id.length <= 500));
  return verdict;
}

/** The headers of a request: first signed correctly, and then mostly changed. */
function makeHeaders(chance: Mutator, sent: Uint8Array): Record<string, string | string[]> {
  const signed = signCorrectly(chance, sent);
  const value = chance.oneIn(3) ? signed : chance.text(signed);
  const delivery = { 'x-opentrain-delivery': chance.text('7000000001'), 'x-service-event': chance.text('x') };
  if (chance.oneIn(20)) return delivery;
  if (chance.oneIn(20)) return { ...delivery, 'x-opentrain-signature': signed, 'x-service-signature': value };
  if (chance.oneIn(40)) return { ...delivery, 'x-service-signature': [signed, value] };
  return { ...delivery, [chance.pick(['x-opentrain-signature', 'x-service-signature'])]: value };
}

function signCorrectly(chance: Mutator, sent: Uint8Array): string {
  const t = now - chance.pick([0, 0, 0, 1, -1, 299, 300, 301, -300, -301, 86_400]);
  const right = `v1=${digestOf(sent, chance.pick(secrets), t)}`;
  const wrong = `v1=${digestOf(sent, 'whsec_another', t)}`;
  const others = [wrong, 'v0=abc', 'key_id=k-7', `v2=${'f'.repeat(64)}`];
  const parts = [`t=${t}`, right, ...others.filter(() => chance.oneIn(5))];
  // Enough to bring the header close to the longest that is accepted.
  if (chance.oneIn(15)) parts.push(...Array.from({ length: 20 + chance.below(20) }, () => wrong));
  const header = (chance.oneIn(3) ? parts.toSorted(() => chance.below(3) - 1) : parts).join(',');
  return chance.oneIn(15) ? grow(chance, header) : header;
}

/** Pads the header to the longest that is accepted, and sometimes beyond. */
function grow(chance: Mutator, header: string): string {
  const filler = 'f'.repeat(Math.max(1, longest - `${header},pad=`.length));
  return `${header},pad=${filler}${chance.pick(['', '', 'f', ',', `,${header}`, ',t=1', ', '])}`;
}

/** The marketplace sends no longer header. */
const longest = 2048;

/** The verdict by the specification and the design, checked character by character. */
function bySpecification(values: readonly string[], received: Uint8Array): string {
  const [header = ''] = values;
  if (header === '') return 'missing';
  if (values.length > 1 || header.length > longest) return 'malformed';
  const parts = header.split(',').map(toPart);
  const [t = '', ...more] = valuesOf('t', parts);
  const digests = valuesOf('v1', parts);
  if (!parts.every(isPart) || more.length > 0 || !isSeconds(t)) return 'malformed';
  if (digests.length === 0 || !digests.every(isDigest)) return 'malformed';
  if (now - Number(t) > 300) return 'too_old';
  if (Number(t) - now > 300) return 'too_new';
  const expected = secrets.map((one) => createHmac('sha256', one).update(`${t}.`).update(received).digest('hex'));
  return digests.some((digest) => expected.includes(digest)) ? 'valid' : 'no_secret_matched';
}

interface Part {
  key: string;
  value: string;
}

function toPart(text: string): Part {
  const sign = text.indexOf('=');
  return { key: text.slice(0, Math.max(sign, 0)), value: text.slice(sign + 1) };
}

function valuesOf(wanted: string, parts: readonly Part[]): string[] {
  return parts.filter(({ key }) => key === wanted).map(({ value }) => value);
}

function isPart({ key, value }: Part): boolean {
  return isKey(key) && value !== '' && value.split(/\s/).length === 1;
}

function isMadeOf(text: string, allowed: string): boolean {
  return [...text].every((letter) => allowed.includes(letter));
}

const digits = '0123456789';
const letters = 'abcdefghijklmnopqrstuvwxyz';

function isKey(key: string): boolean {
  return key !== '' && letters.includes(key.charAt(0)) && isMadeOf(key, `${letters}${digits}_`);
}

function isSeconds(t: string): boolean {
  return t.length <= 15 && t !== '' && isMadeOf(t, digits) && (t === '0' || !t.startsWith('0'));
}

function isDigest(digest: string): boolean {
  return digest.length === 64 && isMadeOf(digest, `${digits}abcdef`);
}
