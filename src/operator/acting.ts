import type { By } from '../db/audit-store.ts';
import type { Storage } from '../keys/storage.ts';

/** What an act of an operator is stored with. */
export interface Acting extends Storage {
  /** Who decided it, and when. */
  by: By;
}
