import type { Generated } from 'kysely';

/** A change of what access follows from. Triggers write these rows (`migrations/0024-journal.ts`). */
export interface JournalTable {
  id: Generated<number>;
  at: string;
  /** The table whose row has changed, or `configuration`. */
  subject: string;
  /** The key of that row, as a JSON list. */
  key: string;
  /** The row after the change, as JSON; null if it was deleted. */
  fact: string | null;
  /** Its position in the chain, from 1; null until it is sealed. */
  seq: number | null;
  /** SHA-256 over the hash before it and this row, in hexadecimal. */
  hash: string | null;
}
