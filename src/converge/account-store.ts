import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Member } from '../adapters/adapter.ts';
import type { Context, Storage } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import type { Row, Tables } from '../db/schema.ts';
import { leftSince, movedSince, statusOfLink } from '../domain/evidence-status.ts';
import type { Route } from '../domain/install.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { bindAccount, isAccountOurs } from '../memberships/identity-store.ts';
import { dueIfWorkable } from '../memberships/look-store.ts';
import { linkedParticipations } from '../memberships/membership-store.ts';
import type { Claim } from './claim-store.ts';
import type { ConvergeResult } from './converge-result.ts';
import { isAccountMadeByUs } from './ownership.ts';

// The SQL of accounts. Several memberships, and several trainers, may share one.

/** Other uses of the account, read in the transaction that stores the intent. */
export interface AccountUse {
  /** Another membership of ours uses the same account in this group. */
  isShared: boolean;
  /** Another trainer uses the same account, or the account is used under another address. */
  isOfAnother: boolean;
  /** Nothing else in the whole tool uses the account. */
  isLastOfAccount: boolean;
  /** Whether it is known that we made the account. */
  isAccountOurs: boolean;
  /** Other groups that the account must leave before it is ended. */
  groupsToLeave: readonly string[];
}

export const unsharedAccount: AccountUse = {
  isShared: false,
  isOfAnother: false,
  isLastOfAccount: false,
  isAccountOurs: false,
  groupsToLeave: [],
};

export async function findAccountUse(
  ctx: Context,
  tx: Transaction,
  claim: Claim,
  found: Member | null,
): Promise<AccountUse> {
  const { box } = ctx;
  const foundId = found?.id ?? null;
  const shown = found?.email ?? null;
  const all = await tx
    .selectFrom('membership')
    .select(['id', 'groupId', 'memberId', 'trainerId', 'wanted'])
    .select((eb) => [
      'state',
      asFlag(isInUse(eb)).as('isInUse'),
      asFlag(isCurrentlyUnder(eb, box, claim)).as('isOfAddress'),
      asFlag(shown === null ? eb.lit(true) : isKnownUnder(eb, box, [shown])).as('isKnownUnder'),
    ])
    .where((eb) => isOfAccount(eb, box, claim, foundId))
    .execute();
  // Leaves out a trainer who had the id before the tool reused it.
  const ofAccount = all.filter(
    ({ memberId, trainerId, isKnownUnder: known }) =>
      memberId !== foundId || trainerId === claim.trainerId || known === 1,
  );
  const others = ofAccount.filter((one) => one.isInUse === 1);
  const managed = await managedGroups(ctx, tx, claim);
  const isManagedHere = managed.some(({ groupId }) => groupId === claim.groupId);
  const leaving = ofAccount.filter((one) => one.isInUse === 0 && one.state === 'removing' && one.memberId === foundId);
  return {
    isShared:
      isManagedHere || others.some((other) => other.groupId === claim.groupId && isSameAccount(other, claim, foundId)),
    isOfAnother: others.some(
      (other) => other.memberId === foundId && (other.trainerId !== claim.trainerId || other.isOfAddress === 0),
    ),
    isLastOfAccount: others.length === 0 && managed.length === 0,
    isAccountOurs: found !== null && (await isAccountOurs(tx, claim, found)),
    groupsToLeave: [...new Set(leaving.map(({ groupId }) => groupId))].filter((groupId) => groupId !== claim.groupId),
  };
}

/** Whether we made the account, by the claim or by what is recorded about the account. */
export async function isAccountKnownAsOurs(
  ctx: Storage,
  claim: Claim,
  account: Member | null | undefined,
): Promise<boolean> {
  if (account == null) return false;
  return isAccountMadeByUs(claim, account) || (await isAccountOurs(ctx.database.kysely, claim, account));
}

/**
 * Compares the tool's ids. While the other membership has no id, or only one of an invitation by link, the current
 * addresses are compared: that trainer may be in by now. Without an id this is possible only for the same trainer,
 * because two trainers with one address may have two accounts.
 */
function isSameAccount(
  { memberId, trainerId, wanted, isOfAddress }: OtherMembership,
  claim: Claim,
  foundId: string | null,
): boolean {
  const isUnknown = memberId === null ? trainerId === claim.trainerId : memberId.startsWith('invited:');
  return isUnknown ? wanted && isOfAddress === 1 : memberId === foundId;
}

interface OtherMembership extends Pick<Row<'membership'>, 'memberId' | 'trainerId' | 'wanted'> {
  /** 1 if its current address is the one of the claim. */
  isOfAddress: number;
}

type MembershipBuilder = ExpressionBuilder<Tables, 'membership'>;

/**
 * The other memberships with this account: by the tool's id, by their current address, or by an address that access was
 * given under. The union lets each part use its own index: with an OR, PostgreSQL would scan the whole tool.
 */
function isOfAccount(
  eb: MembershipBuilder,
  box: SecretBox,
  { id, tool, memberId, addresses }: Claim,
  accountId = memberId,
): Expression<SqlBool> {
  const digests = addresses
    .filter(({ isCurrent, givenAt }) => isCurrent || givenAt !== null)
    .map(({ address }) => box.digest(address));
  const byAddress = sql`select membership_id from membership_address
    where work_email_digest in (${sql.join([...digests, ''])})
      and (is_current = 1 or (given_at is not null and ended_at is null))`;
  const ofAccount = sql<number>`(
    ${byAddress}
    union select id from membership where tool = ${tool} and member_id = ${accountId})`;
  return eb.and([eb('id', '<>', id), eb('tool', '=', tool), sql<SqlBool>`membership.id in ${ofAccount}`]);
}

/** Compares in SQL, because another customer may give this address to any number of trainers. */
function isCurrentlyUnder(eb: MembershipBuilder, box: SecretBox, { email }: Pick<Claim, 'email'>): Expression<SqlBool> {
  const ofAddress = eb
    .selectFrom('membershipAddress')
    .select('membershipId')
    .where('isCurrent', '=', true)
    .where('workEmailDigest', '=', email === null ? '' : box.digest(email));
  return eb('membership.id', 'in', ofAddress);
}

/** Whether the membership has or had one of these addresses. */
export function isKnownUnder(eb: MembershipBuilder, box: SecretBox, addresses: readonly string[]): Expression<SqlBool> {
  const known = eb
    .selectFrom('membershipAddress')
    .select('membershipId')
    .where('workEmailDigest', 'in', addresses.map(box.digest));
  return eb('membership.id', 'in', known);
}

/** A condition as a column: 1 or 0 in both databases. */
function asFlag(condition: Expression<SqlBool>) {
  return sql<number>`case when ${condition} then 1 else 0 end`;
}

/** Whether the member is wanted, was there before us, or is not cleared for removal yet. */
function isInUse(eb: MembershipBuilder): Expression<SqlBool> {
  const isCleared = eb('clearedGeneration', '=', eb.ref('generation'));
  return eb.or([
    eb('wanted', '=', true),
    eb('state', '=', 'released'),
    eb.and([
      eb('state', 'in', ['removing', 'held', 'failed']),
      eb.or([eb('clearedGeneration', 'is', null), eb.not(isCleared)]),
    ]),
  ]);
}

/** Updates the other memberships of the account after a call. */
export async function updateAccountSharers(
  tx: Transaction,
  box: SecretBox,
  claim: Claim,
  { operation, outcome, memberId, state, isOurs = claim.isOurs, isShared }: ConvergeResult & { isShared: boolean },
  now: string,
): Promise<void> {
  const accountId = memberId ?? claim.memberId;
  const isAdded = operation === 'add' && state === 'active' && claim.state !== state;
  if (isAdded && isOurs && isShared && accountId !== null) await shareOwnership(tx, claim, accountId);
  if (outcome === 'kept_for_another' && claim.isOurs) await handOver(tx, box, claim, accountId);
  // A call with unknown outcome may affect all memberships of the account, and late.
  const mayBeLate = claim.lateUntil !== null;
  const isDone = outcome === 'already_absent' || outcome === 'added';
  if (outcome === 'removed' || (mayBeLate && isDone)) {
    await lookAtAccount(tx, box, claim, accountId, now);
  }
}

/**
 * Other memberships that found this member in the group since our call began found what our call added. They are ours
 * too, even if they were released meanwhile.
 */
async function shareOwnership(
  tx: Transaction,
  { id, tool, groupId, generation }: Claim,
  accountId: string,
): Promise<void> {
  await tx
    .updateTable('membership')
    .set((eb) => ({
      isOurs: true,
      state: eb
        .case()
        .when('state', '=', 'released')
        .then<Row<'membership'>['state']>('removed')
        .else(eb.ref('state'))
        .end(),
    }))
    .where((eb) => eb.and({ tool, groupId, memberId: accountId }))
    .where('isOurs', '=', false)
    .where('id', '<>', id)
    .where('updatedAt', '>=', (eb) =>
      eb
        .selectFrom('intent')
        .select((min) => min.fn.min('createdAt').as('begunAt'))
        .where((intent) => intent.and({ membershipId: id, generation, operation: 'add' }))
        .where('wasFound', '=', false),
    )
    .execute();
}

/** Makes the memberships that still use our account the owners of it, even before a look at them. */
async function handOver(tx: Transaction, box: SecretBox, claim: Claim, accountId: string | null): Promise<void> {
  // Only the address that found the account.
  const addresses = claim.addresses.filter(({ address }) => address === claim.email);
  await tx
    .updateTable('membership')
    .set({ isOurs: true, memberId: accountId })
    .where('groupId', '=', claim.groupId)
    .where((eb) =>
      eb.or([
        eb('memberId', '=', accountId),
        eb.and([
          eb('wanted', '=', true),
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

/** Looks at the account's other wanted memberships again. If the account has lost them too, they are added again. */
async function lookAtAccount(
  tx: Transaction,
  box: SecretBox,
  claim: Claim,
  accountId: string | null,
  now: string,
): Promise<void> {
  await tx
    .updateTable('membership')
    .set((eb) => ({ lookAgain: true, nextAttemptAt: dueIfWorkable(eb, now) }))
    .where('wanted', '=', true)
    .where((eb) => isOfAccount(eb, box, claim, accountId))
    .execute();
}

/** The groups of the tool where the marketplace itself adds the trainer. The account is in use there. */
async function managedGroups(
  { box, routeLink }: Context,
  tx: Transaction,
  { tool, install, trainerId, addresses }: Claim,
): Promise<Route[]> {
  const digests = addresses.map(({ address }) => box.digest(address));
  // The trainer id is compared only within the install, because another customer may name any id. People are not loaded
  // first, because another customer may give this address to any number of trainers.
  const people = sql<{ install: string; trainerId: string }>`(
    select install, trainer_id from person
    where work_email_digest in (${sql.join([...digests, ''])})
    union select cast(${install} as text), cast(${trainerId} as text))`;
  const managed = await linkedParticipations(tx)
    .innerJoin(people.as('people'), (join) =>
      join
        .onRef('people.install', '=', 'participation.install')
        .onRef('people.trainerId', '=', 'participation.trainerId'),
    )
    .select(['link.install', 'externalProjectId', 'externalProjectName', 'removedEventAt'])
    .select(['link.seenAt', 'link.absences', 'omissions', 'namedAt'])
    .select(['participation.absences as participationAbsences', 'participation.seenAt as trainerSeenAt'])
    // A link of an unknown mode may be provisioned by the marketplace.
    .where('provisioningMode', '<>', 'PARTNER_WEBHOOK')
    .where('endedReadAt', 'is', null)
    .where('endedEventAt', 'is', null)
    .execute();
  const present = managed.filter(
    ({ participationAbsences, trainerSeenAt, ...link }) =>
      statusOfLink(link) === 'live' &&
      movedSince(link) === null &&
      leftSince({ absences: participationAbsences, seenAt: trainerSeenAt }) === null,
  );
  return present.flatMap((link) => routeLink(link) ?? []).filter((route) => route.tool === tool);
}
