import type { ExpressionBuilder, RawBuilder } from 'kysely';
import type { Storage } from '../../context.ts';
import type { Database, Transaction } from '../../db/database.ts';
import { lockRows } from '../../db/lock.ts';
import { jsonIds, jsonTexts } from '../../db/query.ts';
import type { Tables } from '../../db/schema.ts';
import type { LinkEvidence } from '../../domain/evidence.ts';
import { heldStates, type ReceiptOutcome } from '../../domain/membership.ts';
import type { Arrival, ComparedMembership, ListedAccount } from './judge-drift.ts';

// The SQL that reads for drift: the groups an install has members in, and these members.

export interface Group {
  tool: string;
  groupId: string;
}

export function groupKeyOf({ tool, groupId }: Group): string {
  return JSON.stringify([tool, groupId]);
}

export type DriftLink = Pick<LinkEvidence, 'install' | 'externalProjectId' | 'externalProjectName'>;

const liveStates = heldStates.filter((state) => state !== 'orphaned');

/** Groups in which a trainer of the install is a member, or was removed after `since`. Ordered by tool and group. */
export function groupsOfInstall(ctx: Storage, install: string, since: string): Promise<Group[]> {
  return ctx.database.kysely
    .selectFrom('membership')
    .select(['tool', 'groupId'])
    .distinct()
    .where('install', '=', install)
    .where((eb) =>
      eb.or([eb('state', 'in', liveStates), eb.and([eb('state', '=', 'removed'), eb('updatedAt', '>', since)])]),
    )
    .orderBy('tool')
    .orderBy('groupId')
    .execute();
}

/** Every link that the install ever had. */
export function driftLinksOf(ctx: Storage, install: string): Promise<DriftLink[]> {
  return ctx.database.kysely
    .selectFrom('link')
    .select(['install', 'externalProjectId', 'externalProjectName'])
    .distinct()
    .where('install', '=', install)
    .execute();
}

/**
 * The memberships of the group that a listing can be compared with. In a transaction this locks them until the
 * transaction ends.
 */
export async function comparedMembersOf(
  ctx: Storage,
  tx: Transaction,
  group: Group,
  { listedAt, accounts }: { listedAt: string; accounts: readonly ListedAccount[] },
): Promise<ComparedMembership[]> {
  const comparable = tx
    .selectFrom('membership')
    .select(['id', 'wanted', 'state', 'memberId', 'leaseToken', 'updatedAt'])
    .select(['lateUntil', 'missedAt'])
    .where((eb) => eb.and({ tool: group.tool, groupId: group.groupId }))
    .where(isComparable(ctx.database, accounts))
    .orderBy('id');
  const rows = await lockRows(ctx.database, comparable).execute();
  const ids = jsonIds(
    ctx.database,
    rows.map(({ id }) => id),
  );
  // Only after the rows are locked, because from then on no call can be added.
  const called = await calledSince(tx, ids, listedAt);
  const outcomes = await lastOutcomesOf(tx, ids);
  const people = await addressesOf(tx, ids);
  return rows.map(({ leaseToken, lateUntil, missedAt, ...row }) => {
    const own = people.get(row.id) ?? [];
    return {
      ...row,
      lastOutcome: outcomes.get(row.id) ?? null,
      addresses: own.map(({ digest }) => digest),
      given: own.filter(({ wasGiven }) => wasGiven).map(({ digest }) => digest),
      open: own.filter(({ isOpen }) => isOpen).map(({ digest }) => digest),
      isToConfirm: (lateUntil ?? missedAt) !== null && (lateUntil ?? '') <= listedAt,
      address: own.find(({ isCurrent }) => isCurrent)?.digest ?? null,
      wasCalled: leaseToken !== null || row.updatedAt >= listedAt || called.has(row.id),
    };
  });
}

/** How each trainer came into the group in the current generation, oldest first. */
export async function arrivalsOf(tx: Transaction, membershipIds: number[]): Promise<Map<number, Arrival[]>> {
  if (membershipIds.length === 0) return new Map();
  const receipts = await tx
    .selectFrom('receipt')
    .innerJoin('membership', (join) =>
      join
        .onRef('membership.id', '=', 'receipt.membershipId')
        .onRef('membership.generation', '=', 'receipt.generation'),
    )
    .select(['membershipId', 'outcome', 'createdAt as at'])
    .where('membershipId', 'in', membershipIds)
    .where('outcome', 'in', ['added', 'invited', 'already_member'])
    .orderBy('receipt.id')
    .execute();
  return Map.groupBy(receipts, ({ membershipId }) => membershipId);
}

/**
 * The memberships for which evidence may exist that is not derived yet.
 *
 * @param reading an install whose evidence is complete now
 */
export async function undecidedAmong(
  tx: Transaction,
  membershipIds: number[],
  reading: string = '',
): Promise<Set<number>> {
  if (membershipIds.length === 0) return new Set();
  // An install that was not read since a silence may hold a reason for any trainer.
  const unread = await tx
    .selectFrom('installState')
    .select('install')
    .where('heldSince', 'is not', null)
    .where('install', '!=', reading)
    .limit(1)
    .executeTakeFirst();
  if (unread !== undefined) return new Set(membershipIds);
  const rows = await tx
    .selectFrom('membership')
    .innerJoin('derivation', 'derivation.trainerId', 'membership.trainerId')
    .select('id')
    .where('id', 'in', membershipIds)
    .execute();
  return new Set(rows.map(({ id }) => id));
}

type Ids = RawBuilder<number>;

/** Leaves out removed members who are not in the list and have nothing to confirm. Their number only grows. */
function isComparable(database: Database, accounts: readonly ListedAccount[]) {
  const ids = jsonTexts(
    database,
    accounts.map(({ id }) => id),
  );
  const digests = jsonTexts(
    database,
    accounts.flatMap((account) => account.digests),
  );
  return (eb: ExpressionBuilder<Tables, 'membership'>) =>
    eb.or([
      eb('state', '<>', 'removed'),
      eb('lateUntil', 'is not', null),
      eb('missedAt', 'is not', null),
      eb('memberId', 'in', ids),
      eb(
        'membership.id',
        'in',
        eb.selectFrom('membershipAddress').select('membershipId').where('workEmailDigest', 'in', digests),
      ),
    ]);
}

async function lastOutcomesOf(tx: Transaction, ids: Ids): Promise<Map<number, ReceiptOutcome>> {
  const newest = tx
    .selectFrom('receipt')
    .where('membershipId', 'in', ids)
    .where('outcome', 'not in', ['failed', 'refused', 'unproven', 'already_absent'])
    .groupBy('membershipId')
    .select((eb) => eb.fn.max('receipt.id').as('id'));
  const rows = await tx
    .selectFrom('receipt')
    .innerJoin(newest.as('newest'), 'newest.id', 'receipt.id')
    .select(['membershipId', 'outcome'])
    .execute();
  const outcomes = new Map(rows.map(({ membershipId, outcome }) => [membershipId, outcome]));
  for (const id of await unansweredRemovalsOf(tx, ids)) outcomes.set(id, 'removed');
  return outcomes;
}

/**
 * The memberships of which a removal was sent just after a look had found the member, and nothing conclusive is known
 * since: its answer was lost. Where a look found no member later, that removal was probably it.
 */
async function unansweredRemovalsOf(tx: Transaction, ids: Ids): Promise<number[]> {
  const rows = await tx
    .selectFrom('intent')
    .where('membershipId', 'in', ids)
    .where('intent.operation', '=', 'remove')
    .where('intent.wasFound', '=', true)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('receipt')
            .select('receipt.id')
            .whereRef('receipt.membershipId', '=', 'intent.membershipId')
            .whereRef('receipt.createdAt', '>=', 'intent.createdAt')
            .where('outcome', 'not in', ['failed', 'unproven', 'already_absent']),
        ),
      ),
    )
    .select('membershipId')
    .distinct()
    .execute();
  return rows.map(({ membershipId }) => membershipId);
}

/** The memberships for which a call began or ended since then. */
async function calledSince(tx: Transaction, ids: Ids, since: string): Promise<Set<number>> {
  const begun = tx
    .selectFrom('intent')
    .select('membershipId')
    .where('membershipId', 'in', ids)
    .where('createdAt', '>=', since);
  const ended = tx
    .selectFrom('receipt')
    .select('membershipId')
    .where('membershipId', 'in', ids)
    .where('createdAt', '>=', since);
  const called = await begun.union(ended).execute();
  return new Set(called.map(({ membershipId }) => membershipId));
}

interface KnownAddress {
  id: number;
  digest: string;
  isCurrent: boolean;
  /** Whether access was ever given under this address. */
  wasGiven: boolean;
  /** Whether access was given under it and no look since then found it ended. */
  isOpen: boolean;
}

/** By membership: every address that the trainer has or had. */
async function addressesOf(tx: Transaction, ids: Ids): Promise<Map<number, KnownAddress[]>> {
  const rows = await tx
    .selectFrom('membershipAddress')
    .select(['membershipId', 'workEmailDigest', 'isCurrent', 'givenAt', 'endedAt'])
    .where('membershipId', 'in', ids)
    .execute();
  return Map.groupBy(
    rows.map(({ membershipId: id, workEmailDigest: digest, isCurrent, givenAt, endedAt }) => ({
      id,
      digest,
      isCurrent,
      wasGiven: givenAt !== null,
      isOpen: givenAt !== null && endedAt === null,
    })),
    ({ id }) => id,
  );
}
