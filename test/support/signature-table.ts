import { createHmac } from 'node:crypto';
import type { RefusalReason } from '../../src/http/receiver/delivery-headers.ts';
import { digestOf, sign } from './sign.ts';

/** Signature headers and bodies, with what becomes of each. The receiver and the vendor's client are held to it. */

export const secret = 'whsec_bGl2ZS1zZWNyZXQtb2YtYWNtZQ';
export const retiredSecret = 'whsec_cmV0aXJlZC1zZWNyZXQ';
export const now = 1_773_576_000;
export const body = '{"type":"contract.started", "resourceId":"cmc1"}';

const v1 = digestOf(body, secret, now);
const wrong = digestOf(body, 'whsec_another', now);
const signed = `t=${now},v1=${v1}`;

export interface Attempt {
  name: string;
  headers: string | string[];
  body?: string | Uint8Array;
  expected: RefusalReason | 'valid';
}

const grammar: Attempt[] = [
  { name: 'the header as the marketplace makes it', headers: signed, expected: 'valid' },
  { name: 'no header', headers: [], expected: 'missing' },
  { name: 'an empty header', headers: '', expected: 'missing' },
  { name: 'only spaces', headers: '  ', expected: 'malformed' },
  { name: 'the header twice', headers: [signed, signed], expected: 'malformed' },
  {
    name: 'the header twice, joined by a proxy',
    headers: `${signed}, ${signed}`,
    expected: 'malformed',
  },
  {
    name: 'two headers, the right one second',
    headers: [`t=${now}`, signed],
    expected: 'malformed',
  },
  { name: 'no t', headers: `v1=${v1}`, expected: 'malformed' },
  { name: 'no v1', headers: `t=${now}`, expected: 'malformed' },
  { name: 'an empty v1', headers: `t=${now},v1=`, expected: 'malformed' },
  { name: 'v1 without a value', headers: `t=${now},v1`, expected: 'malformed' },
  { name: 't after v1', headers: `v1=${v1},t=${now}`, expected: 'valid' },
  { name: 't between two v1', headers: `v1=${wrong},t=${now},v1=${v1}`, expected: 'valid' },
  { name: 'two v1, the first right', headers: `${signed},v1=${wrong}`, expected: 'valid' },
  { name: 'two v1, the second right', headers: `t=${now},v1=${wrong},v1=${v1}`, expected: 'valid' },
  {
    name: 'two v1, none right',
    headers: `t=${now},v1=${wrong},v1=${wrong}`,
    expected: 'no_secret_matched',
  },
  {
    name: 'unknown keys beside',
    headers: `${signed},v0=abc,v2=${wrong},key_id=k-7`,
    expected: 'valid',
  },
  { name: 'only another scheme', headers: `t=${now},v0=${v1}`, expected: 'malformed' },
  { name: 'a key in upper case', headers: `t=${now},V1=${v1}`, expected: 'malformed' },
  { name: 'a trailing comma', headers: `${signed},`, expected: 'malformed' },
  { name: 'a space after the comma', headers: `t=${now}, v1=${v1}`, expected: 'malformed' },
  { name: 'a space around the sign', headers: `t=${now},v1 = ${v1}`, expected: 'malformed' },
  { name: 'semicolons', headers: `t=${now};v1=${v1}`, expected: 'malformed' },
  { name: 'the digest alone', headers: v1, expected: 'malformed' },
  {
    name: 'a header of 10,000 wrong digests',
    headers: `t=${now}${`,v1=${wrong}`.repeat(10_000)}`,
    expected: 'malformed',
  },
];

const digests: Attempt[] = [
  { name: 'upper-case hex', headers: `t=${now},v1=${v1.toUpperCase()}`, expected: 'malformed' },
  {
    name: 'one pair of digits short',
    headers: `t=${now},v1=${v1.slice(2)}`,
    expected: 'malformed',
  },
  { name: 'an odd number of digits', headers: `t=${now},v1=${v1.slice(1)}`, expected: 'malformed' },
  { name: 'one pair of digits too many', headers: `${signed}00`, expected: 'malformed' },
  { name: 'not hex', headers: `t=${now},v1=${'z'.repeat(64)}`, expected: 'malformed' },
  {
    name: 'not hex after a right beginning',
    headers: `t=${now},v1=${v1.slice(0, 62)}zz`,
    expected: 'malformed',
  },
  {
    name: 'a right digest beside a malformed one',
    headers: `${signed},v1=abc`,
    expected: 'malformed',
  },
  {
    name: 'base64',
    headers: `t=${now},v1=${Buffer.from(v1, 'hex').toString('base64url')}`,
    expected: 'malformed',
  },
  {
    name: 'SHA-1',
    headers: `t=${now},v1=${digestOf(body, secret, now, 'sha1')}`,
    expected: 'malformed',
  },
  {
    name: 'the last digit changed',
    headers: `${signed.slice(0, -1)}${signed.endsWith('0') ? '1' : '0'}`,
    expected: 'no_secret_matched',
  },
  { name: 'only zeros', headers: `t=${now},v1=${'0'.repeat(64)}`, expected: 'no_secret_matched' },
];

/** Correctly signed over the written timestamp, so only its form or its age is wrong. */
const timestamps: Attempt[] = [
  { name: 'a negative t', headers: sign(body, secret, -now), expected: 'malformed' },
  { name: 'a t with a plus', headers: sign(body, secret, `+${now}`), expected: 'malformed' },
  { name: 'a fractional t', headers: sign(body, secret, `${now}.5`), expected: 'malformed' },
  { name: 'a t that is Infinity', headers: sign(body, secret, 'Infinity'), expected: 'malformed' },
  { name: 'a t that is NaN', headers: sign(body, secret, 'NaN'), expected: 'malformed' },
  { name: 'a t with an exponent', headers: sign(body, secret, '1773576e3'), expected: 'malformed' },
  {
    name: 'a t in hex',
    headers: sign(body, secret, `0x${now.toString(16)}`),
    expected: 'malformed',
  },
  {
    name: 'a t with leading zeros',
    headers: sign(body, secret, `00${now}`),
    expected: 'malformed',
  },
  { name: 'a t of 20 digits', headers: sign(body, secret, '9'.repeat(20)), expected: 'malformed' },
  { name: 'a t in other digits', headers: sign(body, secret, '١٧٧٣٥٧٦٠٠٠'), expected: 'malformed' },
  {
    name: 'a t that is an instant',
    headers: sign(body, secret, '2026-03-15T12:00:00Z'),
    expected: 'malformed',
  },
  { name: 'an empty t', headers: sign(body, secret, ''), expected: 'malformed' },
  { name: 'the same t twice', headers: `t=${now},${signed}`, expected: 'malformed' },
  { name: 'another t before', headers: `t=${now - 1},${signed}`, expected: 'malformed' },
  { name: 'a t in milliseconds', headers: sign(body, secret, now * 1000), expected: 'too_new' },
  { name: 'a t of 0', headers: sign(body, secret, 0), expected: 'too_old' },
  { name: '301 s old', headers: sign(body, secret, now - 301), expected: 'too_old' },
  { name: '300 s old', headers: sign(body, secret, now - 300), expected: 'valid' },
  { name: '299 s old', headers: sign(body, secret, now - 299), expected: 'valid' },
  { name: '299 s ahead', headers: sign(body, secret, now + 299), expected: 'valid' },
  { name: '300 s ahead', headers: sign(body, secret, now + 300), expected: 'valid' },
  { name: '301 s ahead', headers: sign(body, secret, now + 301), expected: 'too_new' },
  {
    name: 'a t moved into the tolerance',
    headers: `t=${now},v1=${digestOf(body, secret, now - 900)}`,
    expected: 'no_secret_matched',
  },
];

const bodies: Attempt[] = [
  {
    name: 'one byte of the body changed',
    headers: signed,
    body: body.replace('cmc1', 'cmc2'),
    expected: 'no_secret_matched',
  },
  { name: 'one space added', headers: signed, body: `${body} `, expected: 'no_secret_matched' },
  { name: 'a line break added', headers: signed, body: `${body}\n`, expected: 'no_secret_matched' },
  {
    name: 'the JSON written again',
    headers: signed,
    body: JSON.stringify(JSON.parse(body)),
    expected: 'no_secret_matched',
  },
  {
    name: 'a byte order mark',
    headers: signed,
    body: `\uFEFF${body}`,
    expected: 'no_secret_matched',
  },
  { name: 'the body gone', headers: signed, body: '', expected: 'no_secret_matched' },
  { name: 'an empty body, signed', headers: sign('', secret, now), body: '', expected: 'valid' },
  {
    name: 'bytes that are no text, signed',
    headers: sign(Buffer.of(0, 255, 254), secret, now),
    body: Buffer.of(0, 255, 254),
    expected: 'valid',
  },
  {
    name: 'a dot moved from the timestamp to the body',
    headers: `t=${now},v1=${digestOf(`5.${body}`, secret, now)}`,
    expected: 'no_secret_matched',
  },
];

const secrets: Attempt[] = [
  {
    name: "another install's secret",
    headers: sign(body, 'whsec_of-another-install', now),
    expected: 'no_secret_matched',
  },
  {
    name: 'a retired secret that is still listed',
    headers: sign(body, retiredSecret, now),
    expected: 'valid',
  },
  {
    name: 'the secret without whsec_',
    headers: sign(body, secret.slice('whsec_'.length), now),
    expected: 'no_secret_matched',
  },
  {
    name: 'the secret decoded from base64',
    headers: `t=${now},v1=${digestOf(body, Buffer.from(secret.slice('whsec_'.length), 'base64'), now)}`,
    expected: 'no_secret_matched',
  },
  { name: 'an empty secret', headers: sign(body, '', now), expected: 'no_secret_matched' },
  {
    name: 'the body signed without the timestamp',
    headers: `t=${now},v1=${createHmac('sha256', secret).update(body).digest('hex')}`,
    expected: 'no_secret_matched',
  },
];

export const signatureTable = { grammar, digests, timestamps, bodies, secrets };
