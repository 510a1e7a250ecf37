import { createHash } from 'node:crypto';

/** Where the marketplace's ids and credentials come from; the same seed gives the same ones. */
export interface Ids {
  /** An opaque id such as `ctr_5f0c…`. */
  next(prefix: string): string;
  /** A token or a webhook secret. */
  nextCredential(prefix: string): string;
  nextEventId(): string;
}

/**
 * Above 2^53 and about to gain a digit: a client that compares event ids as numbers or as text
 * gets the order wrong within the first ten.
 */
const firstEventId = 9_999_999_999_999_990n;

export function createIds(seed: string): Ids {
  const counts = new Map<string, number>();
  let eventId = firstEventId;

  /** Counted per prefix, so that a retried request for one thing does not rename all others. */
  function nextDigest(prefix: string): string {
    const count = (counts.get(prefix) ?? 0) + 1;
    counts.set(prefix, count);
    return createHash('sha256').update(`${seed}:${prefix}:${count}`).digest('hex');
  }

  return {
    next: (prefix) => `${prefix}_${nextDigest(prefix).slice(0, 12)}`,
    nextCredential: (prefix) => `${prefix}_${nextDigest(prefix).slice(0, 40)}`,
    nextEventId: () => (eventId++).toString(),
  };
}
