import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Member } from '../adapters/adapter.ts';
import type { Transaction } from '../db/database.ts';
import type { MembershipRow, Tables } from '../db/tables.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { bindAccount, isAccountOurs } from '../memberships/account-owner-store.ts';
import { dueAgain } from '../memberships/look-store.ts';
import type { Claim } from './claim-store.ts';
import { type AccountRules, managedPlaces } from './managed-place-store.ts';
import type { Result } from './settle-store.ts';

/** The SQL of accounts: several memberships, and several people, may share one (design section 2). */

/** What else the account is in use for, asked in the transaction that holds the intent. */
export interface Begun {
  /** Another membership of ours is of the same account in this group. */
  isShared: boolean;
  /** Somebody else has the same account, or has it under another address. */
  isOfAnother: boolean;
  /** Nothing else in the whole tool keeps the account. */
  isLastOfAccount: boolean;
  /** Whether it is known that we made the account. */
  isAccountOurs: boolean;
  /** Other groups that the account is to leave by now: it goes out of them before it is ended. */
  leaving: readonly string[];
}

export const unshared: Begun = {
  isShared: false,
  isOfAnother: false,
  isLastOfAccount: false,
  isAccountOurs: false,
  leaving: [],
};

/** Asks of every other membership of the account whether it is still to be there. */
export async function askOthers(
  tx: Transaction,
  { box, routeLink }: AccountRules,
  claim: Claim,
  found: Member | null,
): Promise<Begun> {
  const foundId = found?.id ?? null;
  const shown = found?.email ?? null;
  const all = await tx
    .selectFrom('membership')
    .select(['id', 'groupId', 'memberId', 'trainerId', 'wanted'])
    .select((eb) => [
      'state',
      eb.case().when(isInUse(eb)).then(1).else(0).end().as('isInUse'),
      eb
        .case()
        .when(isOfAddress(eb, box, claim))
        .then(1)
        .else(0)
        .end()
        .as('isOfAddress'),
      eb
        .case()
        .when(shown === null ? sql<SqlBool>`1 = 1` : isKnownUnder(eb, box, [shown]))
        .then(1)
        .else(0)
        .end()
        .as('isKnownUnder'),
    ])
    .where((eb) => isOfAccount(eb, box, claim, foundId))
    .execute();
  // Another trainer who had the id before the tool gave it out again has nothing to do with this account.
  const ofAccount = all.filter(
    ({ memberId, trainerId, isKnownUnder: known }) =>
      memberId !== foundId || trainerId === claim.trainerId || Number(known) === 1,
  );
  const others = ofAccount
    .filter(({ isInUse: inUse }) => Number(inUse) === 1)
    .map((other) => ({ ...other, isOfAddress: Number(other.isOfAddress) === 1 }));
  const managed = await managedPlaces(tx, { box, routeLink }, claim);
  const isManagedHere = managed.some(({ groupId }) => groupId === claim.groupId);
  const leaving = ofAccount.filter(
    ({ isInUse: inUse, state, memberId }) => Number(inUse) === 0 && state === 'removing' && memberId === foundId,
  );
  return {
    isShared: isManagedHere || others.some((other) => other.groupId === claim.groupId && isSame(other, claim, foundId)),
    isOfAnother: others.some(
      (other) => other.memberId === foundId && (other.trainerId !== claim.trainerId || !other.isOfAddress),
    ),
    isLastOfAccount: others.length === 0 && managed.length === 0,
    isAccountOurs: found !== null && (await isAccountOurs(tx, claim, found)),
    leaving: [...new Set(leaving.map(({ groupId }) => groupId))].filter((groupId) => groupId !== claim.groupId),
  };
}

/**
 * By the tool's id. Of whom nothing is known in the tool yet, by the address that they are wanted
 * under: the same trainer by another install's word, or whoever was invited by a link and may be in by
 * now. Whether two other people of one address are one account, only the tool's own id can tell.
 */
function isSame(
  { memberId, trainerId, wanted, isOfAddress }: KnownOther,
  claim: Claim,
  foundId: string | null,
): boolean {
  const isUnknown = memberId === null ? trainerId === claim.trainerId : isUnlistedId(memberId);
  return isUnknown ? wanted === 1 && isOfAddress : memberId === foundId;
}

interface KnownOther extends Pick<MembershipRow, 'memberId' | 'trainerId' | 'wanted'> {
  /** Whether it is for the address that the account was looked for by. */
  isOfAddress: boolean;
}

/** Of somebody who was invited by a link of which the tool does not know who has it. */
function isUnlistedId(memberId: string): boolean {
  return memberId.startsWith('invited:');
}

type MembershipBuilder = ExpressionBuilder<Tables, 'membership'>;

/**
 * By the tool's own id, or by an address that it is for, or that somebody was let in under: a trainer
 * may have several accounts, and several trainers one. Each by its index, one after the other: as
 * alternatives of one condition, PostgreSQL would look at the whole tool.
 */
function isOfAccount(
  eb: MembershipBuilder,
  box: SecretBox,
  { id, tool, memberId, addresses }: Claim,
  accountId = memberId,
): Expression<SqlBool> {
  const digests = addresses
    .filter(({ isCurrent, givenAt }) => isCurrent || givenAt !== null)
    .flatMap(({ address }) => box.digests(address));
  const byAddress = sql`select membership_id from membership_address
    where work_email_digest in (${sql.join(digests.length > 0 ? digests : [''])})
      and (is_current = 1 or (given_at is not null and ended_at is null))`;
  const ofAccount = sql<number>`(
    ${byAddress}
    union select id from membership where tool = ${tool} and member_id = ${accountId})`;
  return eb.and([eb('id', '<>', id), eb('tool', '=', tool), sql<SqlBool>`membership.id in ${ofAccount}`]);
}

/** Not opened one by one: another customer may give any number of people this address. */
function isOfAddress(eb: MembershipBuilder, box: SecretBox, { email }: Pick<Claim, 'email'>): Expression<SqlBool> {
  const ofAddress = eb
    .selectFrom('membershipAddress')
    .select('membershipId')
    .where('isCurrent', '=', 1)
    .where('workEmailDigest', 'in', email === null ? [''] : box.digests(email));
  return eb('membership.id', 'in', ofAddress);
}

/** Whether one of these addresses is one that a membership is, or was, for. */
export function isKnownUnder(eb: MembershipBuilder, box: SecretBox, addresses: readonly string[]): Expression<SqlBool> {
  const digests = addresses.flatMap((address) => box.digests(address));
  const known = eb
    .selectFrom('membershipAddress')
    .select('membershipId')
    .where('workEmailDigest', 'in', digests.length > 0 ? digests : ['']);
  return eb('membership.id', 'in', known);
}

/** Wanted, there before us, or not yet let go of: by grace, by the brake, or by an operator. */
function isInUse(eb: MembershipBuilder): Expression<SqlBool> {
  const isLetGo = eb('clearedGeneration', '=', eb.ref('generation'));
  return eb.or([
    eb('wanted', '=', 1),
    eb('state', '=', 'released'),
    eb.and([
      eb('state', 'in', ['removing', 'held', 'failed']),
      eb.or([eb('clearedGeneration', 'is', null), eb.not(isLetGo)]),
    ]),
  ]);
}

/** What was done, or left, may concern whoever else has the account. */
export async function tellAccount(
  tx: Transaction,
  box: SecretBox,
  claim: Claim,
  { operation, outcome, memberId, state, isOurs = claim.isOurs }: Result,
  now: string,
): Promise<void> {
  const accountId = memberId ?? claim.memberId;
  const isAdded = operation === 'add' && state === 'active' && claim.state !== state;
  if (isAdded && isOurs && accountId !== null) await shareOwnership(tx, claim, accountId);
  if (outcome === 'kept_for_another' && claim.isOurs) await handOver(tx, box, claim, accountId);
  // By now or late: what a call did of which nobody knew the end, it may have done to all of them.
  const mayBeLate = claim.lateUntil !== null;
  const isDone = outcome === 'already_absent' || outcome === 'added';
  if (outcome === 'removed' || (mayBeLate && isDone)) {
    await lookAtAccount(tx, box, claim, accountId, now);
  }
}

/**
 * Who was found in the group while our call was under way is in by that call: it is ours for them as
 * well, also for who was let go of meanwhile as not ours.
 */
async function shareOwnership(
  tx: Transaction,
  { id, tool, groupId, generation }: Claim,
  accountId: string,
): Promise<void> {
  await tx
    .updateTable('membership')
    .set((eb) => ({
      isOurs: 1,
      state: eb
        .case()
        .when('state', '=', 'released')
        .then<MembershipRow['state']>('removed')
        .else(eb.ref('state'))
        .end(),
    }))
    .where((eb) => eb.and({ tool, groupId, memberId: accountId, isOurs: 0 }))
    .where('id', '<>', id)
    .where('updatedAt', '>=', (eb) =>
      eb
        .selectFrom('intent')
        .select((min) => min.fn.min('createdAt').as('begunAt'))
        .where((intent) => intent.and({ membershipId: id, generation, operation: 'add', wasFound: 0 })),
    )
    .execute();
}

/** What we made stays ours, by whoever keeps it now; also where that was not looked at yet. */
async function handOver(tx: Transaction, box: SecretBox, claim: Claim, accountId: string | null): Promise<void> {
  // No more than the address by which the account was found.
  const addresses = claim.addresses.filter(({ address }) => address === claim.email);
  await tx
    .updateTable('membership')
    .set({ isOurs: 1, memberId: accountId })
    .where('groupId', '=', claim.groupId)
    .where((eb) =>
      eb.or([
        eb('memberId', '=', accountId),
        eb.and([
          eb('wanted', '=', 1),
          eb.or([
            eb.and([eb('memberId', 'is', null), eb('trainerId', '=', claim.trainerId)]),
            eb('memberId', 'like', 'invited:%'),
          ]),
        ]),
      ]),
    )
    .where((eb) => eb.and([isOfAccount(eb, box, { ...claim, addresses }, accountId), isInUse(eb)]))
    .execute();
  const keeper = await tx
    .selectFrom('membership')
    .select('trainerId')
    .where((eb) => eb.and({ tool: claim.tool, groupId: claim.groupId, memberId: accountId }))
    .where('id', '<>', claim.id)
    .where(isInUse)
    .orderBy('id')
    .executeTakeFirst();
  if (keeper !== undefined) await bindAccount(tx, claim, accountId, keeper.trainerId);
}

/** What else the account was in may be gone with it, and is put back where it is wanted. */
async function lookAtAccount(
  tx: Transaction,
  box: SecretBox,
  claim: Claim,
  accountId: string | null,
  now: string,
): Promise<void> {
  await tx
    .updateTable('membership')
    .set((eb) => ({ lookAgain: 1, nextAttemptAt: dueAgain(eb, now) }))
    .where('wanted', '=', 1)
    .where((eb) => isOfAccount(eb, box, claim, accountId))
    .execute();
}
