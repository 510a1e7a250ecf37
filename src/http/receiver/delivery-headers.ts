import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const maxValueLength = 500;

/** The marketplace's headers, under each of the configured prefixes. @param prefixes such as `X-OpenTrain-` */
export function createMarketplaceHeaders(prefixes: readonly string[]) {
  // In lower case, as Node has them.
  const named = (name: string) => prefixes.map((prefix) => `${prefix}${name}`.toLowerCase());
  const signatures = named('Signature');
  const deliveries = named('Delivery');
  const names = [...signatures, ...deliveries, ...named('Event'), 'user-agent', 'content-type'];
  return {
    /** The distinct values of the signature headers: a sender may send the same value under each prefix. */
    signaturesOf: (headers: IncomingHttpHeaders) => [...new Set(signatures.flatMap((name) => headers[name] ?? []))],
    deliveryIdOf(headers: IncomingHttpHeaders): string | null {
      const [id = ''] = deliveries.flatMap((name) => headers[name] ?? []);
      return id === '' ? null : id.slice(0, maxValueLength);
    },
    /** The headers to store with a delivery, as JSON: no cookies, and nothing that proxies add. */
    toStored(headers: IncomingHttpHeaders): string {
      const stored: Record<string, string> = {};
      for (const name of names) {
        const value = headers[name];
        if (typeof value === 'string') stored[name] = value.slice(0, maxValueLength);
      }
      return JSON.stringify(stored);
    },
  };
}

export type RefusalReason = 'missing' | 'malformed' | 'too_old' | 'too_new' | 'no_secret_matched';

/** A signature header whose form and age are valid. */
export interface Signature {
  /** Exactly as sent, because it is part of the signed text. */
  timestamp: string;
  /** 32 bytes each. */
  digests: readonly Buffer[];
}

type ReadSignature = { outcome: 'read'; signature: Signature } | { outcome: 'refused'; reason: RefusalReason };

const toleranceSeconds = 300;

/**
 * Reads `t=<unix seconds>,v1=<hex>` (docs/rules.md, Receiving). Nothing more can be checked before the body is read.
 *
 * @param headers the distinct values of the signature header; more than one is malformed
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

function refused(reason: RefusalReason): ReadSignature {
  return { outcome: 'refused', reason };
}

const element = /^([a-z][a-z0-9_]*)=([^\s,]+)$/;
/** Whole seconds, with room for milliseconds so that those are refused as "too new". */
const unixSeconds = /^(0|[1-9]\d{0,14})$/;
const sha256Hex = /^[0-9a-f]{64}$/;
const maxHeaderLength = 2048;

/**
 * Exactly one `t` and at least one `v1`, in any order. Other schemes are ignored. A header with anything malformed in
 * it is refused as a whole.
 */
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

/**
 * Whether one of the secrets signed `<t>.<raw body>`. During a rotation there may be several `v1` and several secrets.
 * One match is enough, but every pair is tried, so that timing reveals nothing. The key is the secret's whole text,
 * including `whsec_`.
 */
export function isSignedWith(secrets: readonly string[], { timestamp, digests }: Signature, body: Uint8Array): boolean {
  const matches = secrets.flatMap((secret) => {
    const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest();
    return digests.filter((digest) => timingSafeEqual(expected, digest));
  });
  return matches.length > 0;
}

/** About two megabytes, and more than most installs deliver in a day. */
const usualSize = 10_000;

/**
 * The latest delivery ids. They are not signed, so they decide nothing and are only counted.
 *
 * They are kept in memory because a database index of random ids would cost more than the rest of a delivery. At least
 * the last `size` ids are remembered, and fewer than twice as many: two sets are cheaper than forgetting ids one by one.
 */
export function createRecentIds(size = usualSize) {
  let older = new Set<string>();
  let latest = new Set<string>();
  return {
    /** Records an id. @returns whether this install has already sent it */
    meet(install: string, deliveryId: string): boolean {
      const id = `${install}/${deliveryId}`;
      if (latest.has(id) || older.has(id)) return true;
      if (latest.size >= size) [older, latest] = [latest, new Set()];
      latest.add(id);
      return false;
    },
  };
}
