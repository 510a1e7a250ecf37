import type { Member } from '../adapters/adapter.ts';
import type { Transaction } from '../db/database.ts';
import { hasChanged } from '../db/query.ts';
import { credentialContext } from '../db/seal-contexts.ts';
import type { ToolOperation } from '../domain/membership.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { type Claim, isHeld } from './claim-store.ts';

/** The SQL of intents: what is committed before a call that changes a tool. */

export interface Intent {
  operation: ToolOperation;
  /** What the look before the call found in the group. */
  found: Member | null;
  /** Before adding: whether a look at the whole tool found no account with the address. */
  isAccountAbsent?: boolean | null;
  /** The password of the login that the call may make. It is kept, because the outcome may stay unknown. */
  password?: string | null;
}

/** @returns false if the claim no longer holds */
export async function prolong(
  tx: Transaction,
  claim: Claim,
  { operation, found }: Intent,
  now: string,
  leasedUntil: string,
): Promise<boolean> {
  const isAbsentBeforeAdding = operation === 'add' && found === null;
  // After the removal no look finds the member. Only the id leads to what is left.
  const foundId = operation === 'remove' ? found?.id : undefined;
  const prolonged = tx
    .updateTable('membership')
    .set((eb) => ({
      // A lease is twice as long as a call may take. A call that was given up takes effect before that.
      leasedUntil,
      lateUntil: leasedUntil,
      missedAt: null,
      ...(isAbsentBeforeAdding && { isOurs: true }),
      ...(foundId !== undefined && { memberId: eb.fn.coalesce('memberId', eb.val(foundId)) }),
    }))
    .where(isHeld(claim, now));
  return await hasChanged(prolonged);
}

export async function insertIntent(
  tx: Transaction,
  box: SecretBox,
  { id: membershipId, generation }: Claim,
  { operation, found, password = null }: Intent,
  now: string,
): Promise<void> {
  const context = credentialContext({ membershipId, generation });
  const credential = password === null ? null : box.seal(Buffer.from(password), context);
  await tx
    .insertInto('intent')
    .values({ membershipId, generation, operation, wasFound: found !== null, createdAt: now, credential })
    .execute();
}

/** After the member got in, or is removed, the generated password is no longer needed. */
export async function forgetPasswords(tx: Transaction, membershipIds: readonly number[]): Promise<void> {
  await tx
    .updateTable('intent')
    .set({ credential: null })
    .where('membershipId', 'in', membershipIds)
    .where('credential', 'is not', null)
    .execute();
}
