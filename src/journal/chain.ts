import { createHash } from 'node:crypto';

/**
 * The chain of the evidence journal. The hash of a row is over the hash before it, so a row that is changed, left out,
 * moved or added no longer fits. This makes tampering evident, where a later hash is known from elsewhere: such as from
 * a certificate that was handed out.
 */

export interface JournalRow {
  /** Its position, from 1. */
  seq: number;
  at: string;
  /** The table whose row has changed, or `configuration`. */
  subject: string;
  /** The key of that row, as a JSON list. */
  key: string;
  /** The row after the change, as JSON; null if it was deleted. */
  fact: string | null;
  /** SHA-256 in hexadecimal. */
  hash: string;
}

export type UnsealedRow = Omit<JournalRow, 'seq' | 'hash'>;

/** The last row that a chain is known to have. */
export interface ChainHead {
  seq: number;
  hash: string;
}

export const emptyChain: ChainHead = { seq: 0, hash: '0'.repeat(64) };

/** The row at its position in the chain. */
export function seal(head: ChainHead, { at, subject, key, fact }: UnsealedRow): JournalRow {
  const seq = head.seq + 1;
  const text = JSON.stringify([head.hash, seq, at, subject, key, fact]);
  return { seq, at, subject, key, fact, hash: createHash('sha256').update(text).digest('hex') };
}

/** @returns what is wrong with a row that should follow the head; null if it does follow */
export function faultOf(head: ChainHead, row: JournalRow): string | null {
  const seq = head.seq + 1;
  if (row.seq > seq) return `row ${seq} is missing: row ${row.seq} stands there`;
  if (row.seq < seq) return `row ${row.seq} stands where row ${seq} belongs`;
  if (seal(head, row).hash !== row.hash) return `row ${seq} is not what was sealed, or the row before it is another`;
  return null;
}
