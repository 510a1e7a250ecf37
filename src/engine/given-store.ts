import type { Transaction } from '../db/database.ts';
import { letGoOf } from './address-store.ts';
import type { Claim } from './claim-store.ts';
import type { Intent, Result } from './settle-store.ts';

/** The SQL of giving access under an address, and of having taken it away (design section 2). */

/**
 * From now on somebody may be in the tool under this address by our doing. What an earlier try found,
 * whose end nobody knows, still counts: what is there by now may have been made by it.
 */
export async function noteGiven(
  tx: Transaction,
  { addresses }: Claim,
  { isAccountAbsent = null }: Intent,
  now: string,
): Promise<void> {
  const current = addresses.find(({ isCurrent }) => isCurrent);
  if (current === undefined) return;
  const wasAbsent = isAccountAbsent === null ? null : Number(isAccountAbsent);
  await tx
    .updateTable('membershipAddress')
    .set(
      current.givenAt === null
        ? { givenAt: now, endedAt: null, wasAbsent }
        : { wasAbsent: current.wasAbsent === true ? 1 : wasAbsent },
    )
    .where('id', '=', current.id)
    .execute();
}

/** They are out under every address, or stay without our doing; or go by another from now on. */
export async function noteAddresses(
  tx: Transaction,
  { id, addresses, memberId }: Claim,
  { state, outcome, operation }: Result,
  now: string,
): Promise<void> {
  const current = addresses.find(({ isCurrent }) => isCurrent);
  if (outcome === 'updated' && current !== undefined) {
    await tx
      .updateTable('membershipAddress')
      .set({ givenAt: now, endedAt: null })
      .where('id', '=', current.id)
      .execute();
  }
  // Whom nobody has seen there yet may come late, by a call of which nobody knows the end.
  const wasSeen = memberId !== null && !memberId.startsWith('invited:');
  const isUnseen = outcome === 'already_absent' && !wasSeen;
  const isOver = state === 'removed' || state === 'released';
  if (isOver && !isUnseen) await letGoOf(tx, id, now);
  // A tool that refused has made nobody an account: what is there later was made by somebody else.
  else if (operation === 'add' && outcome === 'refused') {
    await tx
      .updateTable('membershipAddress')
      .set({ wasAbsent: null })
      .where('membershipId', '=', id)
      .where('endedAt', 'is', null)
      .execute();
  }
}
