import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { prepared } from '../db/prepared.ts';
import { hasChanged, hasRows } from '../db/query.ts';
import { heldStates } from '../domain/membership.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { endGivenAddresses, forgetAbsence, updateAddress } from '../memberships/identity-store.ts';
import { dueIfWorkable } from '../memberships/look-store.ts';
import { isKnownUnder } from './account-store.ts';
import type { Claim } from './claim-store.ts';
import type { ConvergeResult } from './converge-result.ts';
import type { Intent } from './receipt-store.ts';

// The SQL of access under an address: when it began and ended, by which account, and which membership owns the account.

/**
 * Records that from now on the trainer may be in the tool under this address because of us. If an earlier try with
 * unknown outcome found no account, that is kept: an account that exists now may come from that try.
 */
export async function recordAccessGiven(
  tx: Transaction,
  { addresses, isOurs }: Claim,
  { isAccountAbsent: wasAbsent = null }: Intent,
  now: string,
): Promise<void> {
  const current = addresses.find(({ isCurrent }) => isCurrent);
  if (current === undefined) return;
  // If an earlier access has ended, the record starts again.
  const isFirst = current.givenAt === null || !isOurs;
  await updateAddress(tx, {
    id: current.id,
    ...(isFirst ? { givenAt: now, endedAt: null, wasAbsent } : { wasAbsent: current.wasAbsent === true || wasAbsent }),
  });
}

const mostOthers = 50;

/**
 * The ids of the members that we added to the group last: a list that is cut off does not show them. Undefined if no look has
 * ever found one there.
 */
export async function findOthersAdded(
  db: Transaction,
  { id, tool, groupId }: Claim,
): Promise<readonly string[] | undefined> {
  const inGroup = db.selectFrom('membership').where('tool', '=', tool).where('groupId', '=', groupId);
  const others = await inGroup
    .select('memberId')
    // Keeps SQLite off the index by state, with which it would read and sort all of a large group.
    .where(sql<string>`state || ''`, '=', 'active')
    .where('isOurs', '=', true)
    .where('id', '!=', id)
    .orderBy('id', 'desc')
    .limit(mostOthers)
    .execute();
  if (others.length > 0) return others.flatMap(({ memberId }) => memberId ?? []);
  const shown = inGroup.innerJoin('receipt', 'receipt.membershipId', 'membership.id').where('outcome', '=', 'added');
  return (await hasRows(shown)) ? [] : undefined;
}

/** Records the access that a settled result ended or moved to another address. */
export async function recordAccessSettled(
  tx: Transaction,
  { id, addresses, memberId }: Claim,
  { state, outcome, operation, unconfirmed, wantsReset = false }: ConvergeResult,
  now: string,
): Promise<void> {
  const current = addresses.find(({ isCurrent }) => isCurrent);
  if (outcome === 'updated' && current !== undefined) {
    await updateAddress(tx, { id: current.id, givenAt: now, endedAt: null });
  }
  // The member was never found, but a call with unknown outcome may still add them.
  const isUnseen = outcome === 'already_absent' && memberId === null;
  const isOver = state === 'removed' || state === 'released';
  // Until the shared link is reset, the member may use it to come in again.
  const isToConfirm = wantsReset || unconfirmed?.missedAt != null;
  if (isOver && !isUnseen && !isToConfirm) await endGivenAddresses(tx, id, now);
  else if (operation === 'add' && outcome === 'refused') await forgetAbsence(tx, id);
}

/**
 * If the member was found by an account that we added for another membership, this membership is ours too. If the
 * trainer is not wanted, the result is `kept_for_another` instead of `released`, because a released account would stay
 * for ever.
 */
export async function withOwnership(
  tx: Transaction,
  box: SecretBox,
  claim: Claim,
  result: ConvergeResult,
): Promise<ConvergeResult> {
  const { outcome, memberId, isOurs = claim.isOurs } = result;
  const isOfOthers = outcome === 'already_member' || outcome === 'released';
  if (!isOfOthers || isOurs || memberId === undefined) return result;
  const known = claim.addresses.map(({ address }) => address);
  const owner = await tx
    .selectFrom('membership')
    .select('id')
    .where('tool', '=', claim.tool)
    .where('memberId', '=', memberId)
    .where('groupId', '=', claim.groupId)
    .where('isOurs', '=', true)
    // A former owner of a reused id does not own this account.
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
      // A list may have put this account in doubt. A doubt about another account stays.
      doubtedId: isInDoubt ? accountId : eb.fn('nullif', ['doubtedId', eb.val(accountId)]),
    }))
    .where((eb) => eb.and({ id, leaseToken, memberId: accountId }));
  return await hasChanged(disowned);
}

/** Whether another trainer is, or may be, in the tool by the account with this id. */
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

/** Whether another membership has this account. Nearly never, and the updates that find none take 35 µs in SQLite alone. */
export async function isAccountShared(
  tx: Transaction,
  { id, tool, memberId }: Claim,
  { memberId: foundId }: Pick<ConvergeResult, 'memberId'>,
): Promise<boolean> {
  const accountId = foundId ?? memberId;
  if (accountId === null) return false;
  return (await findSharer(tx, { id, tool, accountId })).rows.length > 0;
}

const findSharer = prepared((db, { id, tool, accountId }: { id: number; tool: string; accountId: string }) =>
  db
    .selectFrom('membership')
    .select('id')
    .where((eb) => eb.and({ tool, memberId: accountId }))
    .where('id', '<>', id)
    .limit(1),
);

/**
 * An id belongs to one trainer. Other trainers' memberships without these addresses lose it and are looked at again.
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
