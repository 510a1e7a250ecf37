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

type Row = [name: string, headers: Attempt['headers'], expected: Attempt['expected'], body?: Attempt['body']];

function toAttempts(rows: Row[]): Attempt[] {
  return rows.map(([name, headers, expected, sent]) => ({
    name,
    headers,
    expected,
    ...(sent !== undefined && { body: sent }),
  }));
}

const grammar = toAttempts([
  ['the header as the marketplace makes it', signed, 'valid'],
  ['no header', [], 'missing'],
  ['an empty header', '', 'missing'],
  ['only spaces', '  ', 'malformed'],
  ['the header twice', [signed, signed], 'malformed'],
  ['the header twice, joined by a proxy', `${signed}, ${signed}`, 'malformed'],
  ['two headers, the right one second', [`t=${now}`, signed], 'malformed'],
  ['no t', `v1=${v1}`, 'malformed'],
  ['no v1', `t=${now}`, 'malformed'],
  ['an empty v1', `t=${now},v1=`, 'malformed'],
  ['v1 without a value', `t=${now},v1`, 'malformed'],
  ['t after v1', `v1=${v1},t=${now}`, 'valid'],
  ['t between two v1', `v1=${wrong},t=${now},v1=${v1}`, 'valid'],
  ['two v1, the first right', `${signed},v1=${wrong}`, 'valid'],
  ['two v1, the second right', `t=${now},v1=${wrong},v1=${v1}`, 'valid'],
  ['two v1, none right', `t=${now},v1=${wrong},v1=${wrong}`, 'no_secret_matched'],
  ['unknown keys beside', `${signed},v0=abc,v2=${wrong},key_id=k-7`, 'valid'],
  ['only another scheme', `t=${now},v0=${v1}`, 'malformed'],
  ['a key in upper case', `t=${now},V1=${v1}`, 'malformed'],
  ['a trailing comma', `${signed},`, 'malformed'],
  ['a space after the comma', `t=${now}, v1=${v1}`, 'malformed'],
  ['a space around the sign', `t=${now},v1 = ${v1}`, 'malformed'],
  ['semicolons', `t=${now};v1=${v1}`, 'malformed'],
  ['the digest alone', v1, 'malformed'],
  ['a header of 10,000 wrong digests', `t=${now}${`,v1=${wrong}`.repeat(10_000)}`, 'malformed'],
]);

const digests = toAttempts([
  ['upper-case hex', `t=${now},v1=${v1.toUpperCase()}`, 'malformed'],
  ['one pair of digits short', `t=${now},v1=${v1.slice(2)}`, 'malformed'],
  ['an odd number of digits', `t=${now},v1=${v1.slice(1)}`, 'malformed'],
  ['one pair of digits too many', `${signed}00`, 'malformed'],
  ['not hex', `t=${now},v1=${'z'.repeat(64)}`, 'malformed'],
  ['not hex after a right beginning', `t=${now},v1=${v1.slice(0, 62)}zz`, 'malformed'],
  ['a right digest beside a malformed one', `${signed},v1=abc`, 'malformed'],
  ['base64', `t=${now},v1=${Buffer.from(v1, 'hex').toString('base64url')}`, 'malformed'],
  ['SHA-1', `t=${now},v1=${digestOf(body, secret, now, 'sha1')}`, 'malformed'],
  ['the last digit changed', `${signed.slice(0, -1)}${signed.endsWith('0') ? '1' : '0'}`, 'no_secret_matched'],
  ['only zeros', `t=${now},v1=${'0'.repeat(64)}`, 'no_secret_matched'],
]);

/** Correctly signed over the written timestamp, so only its form or its age is wrong. */
const timestamps = toAttempts([
  ['a negative t', sign(body, secret, -now), 'malformed'],
  ['a t with a plus', sign(body, secret, `+${now}`), 'malformed'],
  ['a fractional t', sign(body, secret, `${now}.5`), 'malformed'],
  ['a t that is Infinity', sign(body, secret, 'Infinity'), 'malformed'],
  ['a t that is NaN', sign(body, secret, 'NaN'), 'malformed'],
  ['a t with an exponent', sign(body, secret, '1773576e3'), 'malformed'],
  ['a t in hex', sign(body, secret, `0x${now.toString(16)}`), 'malformed'],
  ['a t with leading zeros', sign(body, secret, `00${now}`), 'malformed'],
  ['a t of 20 digits', sign(body, secret, '9'.repeat(20)), 'malformed'],
  ['a t in other digits', sign(body, secret, '١٧٧٣٥٧٦٠٠٠'), 'malformed'],
  ['a t that is an instant', sign(body, secret, '2026-03-15T12:00:00Z'), 'malformed'],
  ['an empty t', sign(body, secret, ''), 'malformed'],
  ['the same t twice', `t=${now},${signed}`, 'malformed'],
  ['another t before', `t=${now - 1},${signed}`, 'malformed'],
  ['a t in milliseconds', sign(body, secret, now * 1000), 'too_new'],
  ['a t of 0', sign(body, secret, 0), 'too_old'],
  ['301 s old', sign(body, secret, now - 301), 'too_old'],
  ['300 s old', sign(body, secret, now - 300), 'valid'],
  ['299 s old', sign(body, secret, now - 299), 'valid'],
  ['299 s ahead', sign(body, secret, now + 299), 'valid'],
  ['300 s ahead', sign(body, secret, now + 300), 'valid'],
  ['301 s ahead', sign(body, secret, now + 301), 'too_new'],
  ['a t moved into the tolerance', `t=${now},v1=${digestOf(body, secret, now - 900)}`, 'no_secret_matched'],
]);

const bodies = toAttempts([
  ['one byte of the body changed', signed, 'no_secret_matched', body.replace('cmc1', 'cmc2')],
  ['one space added', signed, 'no_secret_matched', `${body} `],
  ['a line break added', signed, 'no_secret_matched', `${body}\n`],
  ['the JSON written again', signed, 'no_secret_matched', JSON.stringify(JSON.parse(body))],
  ['a byte order mark', signed, 'no_secret_matched', `\uFEFF${body}`],
  ['the body gone', signed, 'no_secret_matched', ''],
  ['an empty body, signed', sign('', secret, now), 'valid', ''],
  ['bytes that are no text, signed', sign(Buffer.of(0, 255, 254), secret, now), 'valid', Buffer.of(0, 255, 254)],
  [
    'a dot moved from the timestamp to the body',
    `t=${now},v1=${digestOf(`5.${body}`, secret, now)}`,
    'no_secret_matched',
  ],
]);

const secrets = toAttempts([
  ["another install's secret", sign(body, 'whsec_of-another-install', now), 'no_secret_matched'],
  ['a retired secret that is still listed', sign(body, retiredSecret, now), 'valid'],
  ['the secret without whsec_', sign(body, secret.slice('whsec_'.length), now), 'no_secret_matched'],
  [
    'the secret decoded from base64',
    `t=${now},v1=${digestOf(body, Buffer.from(secret.slice('whsec_'.length), 'base64'), now)}`,
    'no_secret_matched',
  ],
  ['an empty secret', sign(body, '', now), 'no_secret_matched'],
  [
    'the body signed without the timestamp',
    `t=${now},v1=${createHmac('sha256', secret).update(body).digest('hex')}`,
    'no_secret_matched',
  ],
]);

export const signatureTable = { grammar, digests, timestamps, bodies, secrets };
