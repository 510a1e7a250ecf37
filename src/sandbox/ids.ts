import { createHash } from 'node:crypto';

export type Ids = ReturnType<typeof createIds>;

/**
 * Above 2^53, and the tenth id after it has one digit more. A client that compares event ids as numbers
 * or as text gets their order wrong.
 */
const firstEventId = 9_999_999_999_999_990n;

/** The ids and credentials of the marketplace. The same seed gives the same ones. */
export function createIds(seed: string) {
  const counts = new Map<string, number>();
  let eventId = firstEventId;

  /** Counted per prefix, so that one more id of one kind does not change the ids of the other kinds. */
  function nextDigest(prefix: string): string {
    const count = (counts.get(prefix) ?? 0) + 1;
    counts.set(prefix, count);
    return createHash('sha256').update(`${seed}:${prefix}:${count}`).digest('hex');
  }

  return {
    /** An opaque id such as `ctr_5f0c…`. */
    next: (prefix: string) => `${prefix}_${nextDigest(prefix).slice(0, 12)}`,
    /** A token or a webhook secret. */
    nextCredential: (prefix: string) => `${prefix}_${nextDigest(prefix).slice(0, 40)}`,
    nextEventId: () => (eventId++).toString(),
  };
}
