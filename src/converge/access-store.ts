import type { Transaction } from '../db/database.ts';
import { hasChanged, hasRows } from '../db/query.ts';
import { heldStates } from '../domain/membership.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { endGivenAddresses, forgetAbsence, updateAddress } from '../memberships/address-store.ts';
import { dueIfWorkable } from '../memberships/look-store.ts';
import { isKnownUnder } from './account-store.ts';
import type { Claim } from './claim-store.ts';
import type { ConvergeResult } from './converge-result.ts';
import type { Intent } from './intent-store.ts';

/**
 * The SQL of giving and ending access under an address: by which account a member is in,
 * and which membership owns it.
 */

/**
 * Records that from now on the trainer may be in the tool under this address because of us. What the look of an earlier
 * try with unknown outcome found still counts: an account that exists now may come from that try.
 */
export async function recordAccessGiven(
  tx: Transaction,
  { addresses, isOurs }: Claim,
  { isAccountAbsent: wasAbsent = null }: Intent,
  now: string,
): Promise<void> {
  const current = addresses.find(({ isCurrent }) => isCurrent);
  if (current === undefined) return;
  await updateAddress(
    tx,
    current.id,
    // The earlier access has ended since, so the record starts again.
    current.givenAt === null || !isOurs
      ? { givenAt: now, endedAt: null, wasAbsent }
      : { wasAbsent: current.wasAbsent === true || wasAbsent },
  );
}

const mostOthers = 50;

/**
 * Members of the same group that we added, by the tool's ids. Undefined if no look has ever found a member that we added
 * to it.
 */
export async function findOthersAdded(
  db: Transaction,
  { id, tool, groupId }: Claim,
): Promise<readonly string[] | undefined> {
  const inGroup = db.selectFrom('membership').where('tool', '=', tool).where('groupId', '=', groupId);
  const others = await inGroup
    .select('memberId')
    .where('state', '=', 'active')
    .where('isOurs', '=', true)
    .where('id', '!=', id)
    .orderBy('id', 'desc')
    .limit(mostOthers)
    .execute();
  if (others.length > 0) return others.flatMap(({ memberId }) => memberId ?? []);
  const shown = inGroup.innerJoin('receipt', 'receipt.membershipId', 'membership.id').where('outcome', '=', 'added');
  return (await hasRows(shown)) ? [] : undefined;
}

/** Records the access that a settled result ended, kept without us, or moved to another address. */
export async function recordAccessSettled(
  tx: Transaction,
  { id, addresses, memberId }: Claim,
  { state, outcome, operation, unconfirmed, wantsReset = false }: ConvergeResult,
  now: string,
): Promise<void> {
  const current = addresses.find(({ isCurrent }) => isCurrent);
  if (outcome === 'updated' && current !== undefined) {
    await updateAddress(tx, current.id, { givenAt: now, endedAt: null });
  }
  // The member was never seen, but may still be added by a call with unknown outcome.
  const isUnseen = outcome === 'already_absent' && memberId === null;
  const isOver = state === 'removed' || state === 'released';
  // Until the shared link is worthless, the member may come in by it again.
  const isToConfirm = wantsReset || unconfirmed?.missedAt != null;
  if (isOver && !isUnseen && !isToConfirm) await endGivenAddresses(tx, id, now);
  else if (operation === 'add' && outcome === 'refused') await forgetAbsence(tx, id);
}

/**
 * If a member is found by an account that we added for another membership, we own this one too. If the trainer is not
 * wanted, the account stays for that other membership only. As a member who was there before us, it would stay for
 * ever.
 */
export async function withOwnership(
  tx: Transaction,
  box: SecretBox,
  claim: Claim,
  result: ConvergeResult,
): Promise<ConvergeResult> {
  const { outcome, memberId, isOurs = claim.isOurs } = result;
  const isOfUnknown = outcome === 'already_member' || outcome === 'released';
  if (!isOfUnknown || isOurs || memberId === undefined) return result;
  const known = claim.addresses.map(({ address }) => address);
  const owner = await tx
    .selectFrom('membership')
    .select('id')
    .where('tool', '=', claim.tool)
    .where('memberId', '=', memberId)
    .where('groupId', '=', claim.groupId)
    .where('isOurs', '=', true)
    // A former owner of a reused id says nothing about this account.
    .where((eb) => isKnownUnder(eb, box, known))
    .executeTakeFirst();
  if (owner === undefined) return result;
  return outcome === 'released'
    ? { ...result, outcome: 'kept_for_another', state: 'removed' }
    : { ...result, isOurs: true };
}

/** @returns whether the id was still recorded */
export async function forgetMemberId(
  tx: Transaction,
  { id, token: leaseToken }: Claim,
  accountId: string,
  isInDoubt: boolean,
): Promise<boolean> {
  const disowned = tx
    .updateTable('membership')
    .set((eb) => ({
      memberId: null,
      // A list may have put this account in doubt, and an earlier doubt may be about another.
      doubtedId: isInDoubt ? accountId : eb.fn('nullif', ['doubtedId', eb.val(accountId)]),
    }))
    .where((eb) => eb.and({ id, leaseToken, memberId: accountId }));
  return await hasChanged(disowned);
}

/** Whether another trainer is, or may be, in the tool by this id. */
export async function isBoundToAnother(
  db: Transaction,
  { tool, trainerId }: Pick<Claim, 'tool' | 'trainerId'>,
  accountId: string,
): Promise<boolean> {
  const others = db
    .selectFrom('membership')
    .where((eb) => eb.and({ tool, memberId: accountId }))
    .where('trainerId', '<>', trainerId)
    .where('state', 'in', heldStates);
  return await hasRows(others);
}

/**
 * Each id belongs to one trainer. Memberships of other trainers that had it, and know none of these addresses, lose it
 * and are looked at again.
 */
export async function unbindFromOthers(
  tx: Transaction,
  box: SecretBox,
  { tool, trainerId, addresses }: Claim,
  { operation, outcome, memberId }: ConvergeResult,
  now: string,
): Promise<void> {
  const isSettledIn = operation !== 'remove' && outcome !== 'failed' && outcome !== 'refused';
  if (memberId === undefined || !isSettledIn) return;
  await tx
    .updateTable('membership')
    .set((eb) => ({ memberId: null, nextAttemptAt: dueIfWorkable(eb, now) }))
    .where((eb) => eb.and({ tool, memberId }))
    .where('trainerId', '<>', trainerId)
    .where('state', '<>', 'released')
    .where((eb) => eb.and(addresses.map(({ address }) => eb.not(isKnownUnder(eb, box, [address])))))
    .execute();
}
