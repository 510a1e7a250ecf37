import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';

export type RefusalReason = 'missing' | 'malformed' | 'too_old' | 'too_new' | 'no_secret_matched';

export type Verification = { outcome: 'valid' } | { outcome: 'refused'; reason: RefusalReason };

interface SignedRequest {
  /** Every value of the signature header; more than one is malformed. */
  headers: readonly string[];
  body: Uint8Array;
  secrets: readonly KeyObject[];
  /** Unix seconds. */
  now: number;
}

const toleranceSeconds = 300;

/** Keeps a secret in the form HMAC wants. The whole literal counts, `whsec_` included. */
export function toSigningKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret, 'utf8'));
}

/**
 * Checks `t=<unix seconds>,v1=<hex>` over `<t>.<raw body>` (spec: part B section 5.5,
 * platform-api.md section 5). Several `v1` and several secrets may be on offer while a secret is
 * being rotated: one match is enough, and all are tried, so that the time taken tells nothing.
 */
export function verifySignature({ headers, body, secrets, now }: SignedRequest): Verification {
  const [header = ''] = headers;
  if (header === '') return refused('missing');
  const signature = headers.length === 1 ? parseSignature(header) : undefined;
  if (signature === undefined) return refused('malformed');

  const age = now - Number(signature.timestamp);
  if (age > toleranceSeconds) return refused('too_old');
  if (age < -toleranceSeconds) return refused('too_new');

  const matches = secrets.flatMap((secret) => {
    const expected = createHmac('sha256', secret)
      .update(`${signature.timestamp}.`)
      .update(body)
      .digest();
    return signature.digests.filter((digest) => timingSafeEqual(expected, digest));
  });
  return matches.length > 0 ? { outcome: 'valid' } : refused('no_secret_matched');
}

interface Signature {
  /** As it was written: it is part of what was signed. */
  timestamp: string;
  /** 32 bytes each. */
  digests: Buffer[];
}

const element = /^([a-z][a-z0-9_]*)=([^\s,]+)$/;
/** Plain seconds. Long enough for milliseconds, so that those are told "too new". */
const unixSeconds = /^(0|[1-9]\d{0,14})$/;
const sha256Hex = /^[0-9a-f]{64}$/;
const maxHeaderLength = 2048;

/** Exactly one `t`, at least one `v1`, in any order; schemes of other names are passed over. */
function parseSignature(header: string): Signature | undefined {
  const elements = header
    .slice(0, maxHeaderLength)
    .split(',')
    .map((part) => element.exec(part));
  const valuesOf = (key: string) =>
    elements.flatMap((match) => (match?.[1] === key ? [match[2] ?? ''] : []));
  const [timestamp = '', ...moreTimestamps] = valuesOf('t');
  const digests = valuesOf('v1');
  const isWellFormed =
    elements.every((match) => match !== null) &&
    unixSeconds.test(timestamp) &&
    moreTimestamps.length === 0 &&
    digests.length > 0 &&
    digests.every((digest) => sha256Hex.test(digest));
  if (!isWellFormed) return undefined;
  return { timestamp, digests: digests.map((digest) => Buffer.from(digest, 'hex')) };
}

function refused(reason: RefusalReason): Verification {
  return { outcome: 'refused', reason };
}
