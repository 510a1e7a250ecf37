import { createHmac, timingSafeEqual } from 'node:crypto';

export type RefusalReason = 'missing' | 'malformed' | 'too_old' | 'too_new' | 'no_secret_matched';

/** A signature header whose form and age are valid. */
export interface Signature {
  /** As it was sent, because it is part of what is signed. */
  timestamp: string;
  /** 32 bytes each. */
  digests: readonly Buffer[];
}

export type ReadSignature = { outcome: 'read'; signature: Signature } | { outcome: 'refused'; reason: RefusalReason };

const toleranceSeconds = 300;

/**
 * Reads `t=<unix seconds>,v1=<hex>` (docs/rules.md, Receiving). This is all that can be checked before
 * the body is read.
 *
 * @param headers the different values of the signature header; more than one is malformed
 * @param now Unix seconds
 */
export function readSignature(headers: readonly string[], now: number): ReadSignature {
  const [header = ''] = headers;
  if (header === '') return refused('missing');
  const signature = headers.length === 1 ? parseSignature(header) : undefined;
  if (signature === undefined) return refused('malformed');

  const age = now - Number(signature.timestamp);
  if (age > toleranceSeconds) return refused('too_old');
  if (age < -toleranceSeconds) return refused('too_new');
  return { outcome: 'read', signature };
}

/**
 * Whether one of the secrets made the signature over `<t>.<raw body>`. During a rotation there may be
 * several `v1` and several secrets. One match is enough, but all are tried, so that the time it takes
 * reveals nothing. The whole text of a secret is the key, `whsec_` included.
 */
export function isSignedWith(secrets: readonly string[], { timestamp, digests }: Signature, body: Uint8Array): boolean {
  const matches = secrets.flatMap((secret) => {
    const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest();
    return digests.filter((digest) => timingSafeEqual(expected, digest));
  });
  return matches.length > 0;
}

const element = /^([a-z][a-z0-9_]*)=([^\s,]+)$/;
/** Plain seconds. Long enough for milliseconds, so that those are refused as "too new". */
const unixSeconds = /^(0|[1-9]\d{0,14})$/;
const sha256Hex = /^[0-9a-f]{64}$/;
const maxHeaderLength = 2048;

/** Exactly one `t` and at least one `v1`, in any order. Other schemes are ignored. No header is read in part. */
function parseSignature(header: string): Signature | undefined {
  if (header.length > maxHeaderLength) return undefined;
  const elements = header.split(',').map((part) => element.exec(part));
  const valuesOf = (key: string) => elements.flatMap((match) => (match?.[1] === key ? [match[2] ?? ''] : []));
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

function refused(reason: RefusalReason): ReadSignature {
  return { outcome: 'refused', reason };
}
