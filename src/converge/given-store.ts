import type { Transaction } from '../db/database.ts';
import { heldStates } from '../domain/membership.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { forgetAbsence, letGoOf, updateAddress } from '../memberships/address-store.ts';
import { dueAgain } from '../memberships/look-store.ts';
import { isKnownUnder } from './account-store.ts';
import type { Claim } from './claim-store.ts';
import type { Intent } from './intent-store.ts';
import type { Result } from './settle-store.ts';

/**
 * The SQL of giving access under an address, and of having taken it away (design section 2): by which
 * account somebody is in, and whose that is.
 */

/**
 * From now on somebody may be in the tool under this address by our doing. What an earlier try found,
 * whose end nobody knows, still counts: what is there by now may have been made by it.
 */
export async function noteGiven(
  tx: Transaction,
  { addresses, isOurs }: Claim,
  { isAccountAbsent = null }: Intent,
  now: string,
): Promise<void> {
  const current = addresses.find(({ isCurrent }) => isCurrent);
  if (current === undefined) return;
  const wasAbsent = isAccountAbsent === null ? null : Number(isAccountAbsent);
  await updateAddress(
    tx,
    current.id,
    // Who was seen out since, and is only to be looked for again, begins anew.
    current.givenAt === null || !isOurs
      ? { givenAt: now, endedAt: null, wasAbsent }
      : { wasAbsent: current.wasAbsent === true ? 1 : wasAbsent },
  );
}

/** They are out under every address, or stay without our doing; or go by another from now on. */
export async function noteAddresses(
  tx: Transaction,
  { id, addresses, memberId }: Claim,
  { state, outcome, operation, unconfirmed, wantsReset = false }: Result,
  now: string,
): Promise<void> {
  const current = addresses.find(({ isCurrent }) => isCurrent);
  if (outcome === 'updated' && current !== undefined) {
    await updateAddress(tx, current.id, { givenAt: now, endedAt: null });
  }
  // Whom nobody has seen there yet may come late, by a call of which nobody knows the end.
  const isUnseen = outcome === 'already_absent' && memberId === null;
  const isOver = state === 'removed' || state === 'released';
  // Until the link is worthless that everybody has, they may be in again by it.
  const isToConfirm = wantsReset || unconfirmed?.missedAt != null;
  if (isOver && !isUnseen && !isToConfirm) await letGoOf(tx, id, now);
  else if (operation === 'add' && outcome === 'refused') await forgetAbsence(tx, id);
}

/**
 * Who is found by an account that we put there for another is ours too. Whoever is to be out stays by
 * it for that other alone: as one who was there before, they would keep it in for good.
 */
export async function withOwnership(tx: Transaction, box: SecretBox, claim: Claim, result: Result): Promise<Result> {
  const { outcome, memberId, isOurs = claim.isOurs } = result;
  const isOfUnknown = outcome === 'already_member' || outcome === 'released';
  if (!isOfUnknown || isOurs || memberId === undefined) return result;
  const owner = await tx
    .selectFrom('membership')
    .select('id')
    .where('tool', '=', claim.tool)
    .where('memberId', '=', memberId)
    .where('groupId', '=', claim.groupId)
    .where('isOurs', '=', 1)
    // Who had the id before the tool gave it out again says nothing of this account.
    .where((eb) =>
      isKnownUnder(
        eb,
        box,
        claim.addresses.map(({ address }) => address),
      ),
    )
    .executeTakeFirst();
  if (owner === undefined) return result;
  return outcome === 'released'
    ? { ...result, outcome: 'kept_for_another', state: 'removed' }
    : { ...result, isOurs: true };
}

/** @returns whether the id was believed until now */
export async function disown(
  tx: Transaction,
  { id: membershipId, token }: Claim,
  accountId: string,
  isInDoubt: boolean,
): Promise<boolean> {
  const disowned = await tx
    .updateTable('membership')
    .set({ memberId: null, ...(isInDoubt && { doubtedId: accountId }) })
    .where('id', '=', membershipId)
    .where('leaseToken', '=', token)
    .where('memberId', '=', accountId)
    .executeTakeFirst();
  return disowned.numUpdatedRows === 1n;
}

/** Whether another trainer is, or may be, in the tool by this id. */
export async function isBoundToAnother(
  db: Transaction,
  { tool, trainerId }: Pick<Claim, 'tool' | 'trainerId'>,
  accountId: string,
): Promise<boolean> {
  const other = await db
    .selectFrom('membership')
    .select('id')
    .where((eb) => eb.and({ tool, memberId: accountId }))
    .where('trainerId', '<>', trainerId)
    .where('state', 'in', heldStates)
    .limit(1)
    .executeTakeFirst();
  return other !== undefined;
}

/** An id is one trainer's: whoever had it before, by none of these addresses, is looked for anew. */
export async function bindId(
  tx: Transaction,
  box: SecretBox,
  { tool, trainerId, addresses }: Claim,
  { operation, outcome, memberId }: Result,
  now: string,
): Promise<void> {
  const isSettledIn = operation !== 'remove' && outcome !== 'failed' && outcome !== 'refused';
  if (memberId === undefined || !isSettledIn) return;
  await tx
    .updateTable('membership')
    .set((eb) => ({ memberId: null, nextAttemptAt: dueAgain(eb, now) }))
    .where((eb) => eb.and({ tool, memberId }))
    .where('trainerId', '<>', trainerId)
    .where('state', '<>', 'released')
    .where((eb) => eb.and(addresses.map(({ address }) => eb.not(isKnownUnder(eb, box, [address])))))
    .execute();
}
