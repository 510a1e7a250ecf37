import type { Member } from '../adapters/adapter.ts';
import type { Transaction } from '../db/database.ts';
import type { Operation } from '../domain/membership.ts';
import { credentialContext } from '../keys/seal-contexts.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import type { Claim } from './claim-store.ts';

/** The SQL of intents: what is committed before a call that changes a tool (design section 2). */

export interface Intent {
  operation: Operation;
  /** What the look before the call found in the group. */
  found: Member | null;
  /** Before adding: whether a look at the whole tool found no account of the address. */
  isAccountAbsent?: boolean | null;
  /** For the login that the call may make: kept, as nobody can say whether it did. */
  password?: string | null;
}

/** @returns false where the claim no longer holds */
export async function prolong(
  tx: Transaction,
  { id, token, generation }: Claim,
  { operation, found }: Intent,
  now: string,
  leasedUntil: string,
): Promise<boolean> {
  const isAbsentBeforeAdding = operation === 'add' && found === null;
  // Whoever is about to be taken out is found by no look after that: only their id leads to the rest.
  const foundId = operation === 'remove' ? found?.id : undefined;
  const held = await tx
    .updateTable('membership')
    .set((eb) => ({
      // A lease is twice as long as a call may take: one that was given up arrives no later than that.
      leasedUntil,
      lateUntil: leasedUntil,
      missedAt: null,
      ...(isAbsentBeforeAdding && { isOurs: 1 }),
      ...(foundId !== undefined && { memberId: eb.fn.coalesce('memberId', eb.val(foundId)) }),
    }))
    .where('id', '=', id)
    .where('leaseToken', '=', token)
    .where('leasedUntil', '>', now)
    .where('generation', '=', generation)
    .executeTakeFirst();
  return held.numUpdatedRows === 1n;
}

export async function insertIntent(
  tx: Transaction,
  box: SecretBox,
  { id: membershipId, generation }: Claim,
  { operation, found, password = null }: Intent,
  now: string,
): Promise<void> {
  const wasFound = found === null ? 0 : 1;
  const place = credentialContext(membershipId, generation);
  const credential = password === null ? null : box.seal(Buffer.from(password), place);
  await tx
    .insertInto('intent')
    .values({ membershipId, generation, operation, wasFound, createdAt: now, credential })
    .execute();
}

/** Once they got in, or are out, a password that was made up for them is nobody's any more. */
export async function forgetPasswords(tx: Transaction, membershipIds: readonly number[]): Promise<void> {
  await tx
    .updateTable('intent')
    .set({ credential: null })
    .where('membershipId', 'in', membershipIds)
    .where('credential', 'is not', null)
    .execute();
}
