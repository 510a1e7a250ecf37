import type { Transaction } from '../db/database.ts';
import { takeTurn } from '../db/lease.ts';
import type { Storage } from '../keys/storage.ts';

/**
 * Lets one instance at a time change evidence, until the transaction ends. Otherwise two instances that derive
 * memberships at the same time could each count on a reason that the other one ends.
 */
export function lockEvidence(ctx: Storage, tx: Transaction): Promise<void> {
  return takeTurn(ctx.database, tx, 'evidence');
}
