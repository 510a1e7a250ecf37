import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Storage } from '../context.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { claimRows, isFree, takeTurn } from '../db/lock.ts';
import { prepared } from '../db/prepared.ts';
import { hasChanged, installsIn } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import { credentialContext } from '../db/seal-contexts.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { addressesOfMemberships, type GivenAddress } from '../memberships/identity-store.ts';
import { isHeldBack, isWorkable, type MembershipCondition } from '../memberships/membership-store.ts';
import type { Intent } from './receipt-store.ts';

// The SQL of claiming. A claim is a lease with a token. A worker that has lost the lease can no longer settle, and a
// worker whose generation is outdated can no longer begin a call. A removal that the brake has not cleared is never
// claimed.

/** After this time another worker takes over the work of a dead one. */
export const convergeLeaseMs = 30_000;

export interface MembershipClaimOrder {
  tool: string;
  install: string;
  token: string;
  now: string;
  leasedUntil: string;
  limit: number;
  /** Of each group or trainer, only one membership is claimed at a time. */
  exclusiveBy: readonly ('groupId' | 'trainerId')[];
  /** Whether Gangway sets the passwords of new logins. */
  makesLogins?: boolean;
}

/** A leased membership, and what a call for it needs. */
export interface Claim extends Omit<Row<'membership'>, 'leaseToken' | 'leasedUntil'> {
  token: string;
  /** By account id: when the tool made the accounts that are known to be the trainer's. */
  madeAt: ReadonlyMap<string, string>;
  /** Since when it is due. */
  dueAt: string;
  /** Its current address. */
  email: string | null;
  /** All its addresses, current and former. */
  addresses: readonly GivenAddress[];
  displayName: string | null;
  /** The password of an earlier try with unknown outcome. The next try must use the same one. */
  password: string | null;
  /** Whether an invitation is kept for it. */
  hasInvitation: boolean;
  /** Whether a pending invitation must be renewed. */
  isRenewalWanted: boolean;
}

/** A claim that a worker acts on until the signal aborts. */
export interface Attempt extends Claim {
  signal: AbortSignal;
}

/** The installs with a membership that is due in the tool. */
export async function installsWithMembershipsDue(ctx: Storage, tool: string, now: string): Promise<string[]> {
  return await installsIn(ctx.database.kysely, 'membership', {
    which: sql`tool = ${tool} and next_attempt_at is not null`,
    has: sql`exists (select 1 from membership where tool = ${tool} and membership.install = turn.install
      and next_attempt_at <= ${now})`,
  });
}

export async function claimMemberships(ctx: Storage, order: MembershipClaimOrder): Promise<Claim[]> {
  const { install, tool, token, makesLogins = false } = order;
  return await inTransaction(ctx.database, async (tx) => {
    const rows = await leaseDue(ctx.database, tx, order);
    const ids = rows.map(({ id }) => id);
    const names = await findNames(tx, install, rows);
    const addresses = await addressesOfMemberships(ctx, tx, ids);
    const invitations = await findInvitations(tx, ids);
    const madeAt = await findMadeAt(tx, tool, rows);
    const passwords = makesLogins ? await findPasswords(tx, ctx.box, ids) : new Map<number, string>();
    return rows.map((row) => {
      const own = addresses.get(row.id) ?? [];
      return {
        ...row,
        token,
        dueAt: row.nextAttemptAt ?? row.updatedAt,
        email: own.find(({ isCurrent }) => isCurrent)?.address ?? null,
        addresses: own,
        madeAt: madeAt.get(row.trainerId) ?? new Map(),
        displayName: names.get(row.trainerId) ?? null,
        password: passwords.get(row.id) ?? null,
        hasInvitation: invitations.has(row.id),
        isRenewalWanted: row.state === 'invited' && invitations.get(row.id) === true,
      };
    });
  });
}

/**
 * Prolongs the lease for one more call without an intent of its own.
 *
 * @returns false if the claim no longer holds, so that nothing more may be done under it
 */
export function prolongClaim(ctx: Storage, claim: Claim, now: string, leasedUntil: string): Promise<boolean> {
  return inTransaction(ctx.database, (tx) =>
    hasChanged(tx.updateTable('membership').set({ leasedUntil, lateUntil: leasedUntil }).where(isHeld(claim, now))),
  );
}

/** Prolongs the lease for the call of an intent. @returns false if the claim no longer holds */
export async function prolongForCall(
  tx: Transaction,
  claim: Claim,
  { operation, found }: Intent,
  now: string,
  leasedUntil: string,
): Promise<boolean> {
  const isAbsentBeforeAdding = operation === 'add' && found === null;
  // After the removal no look finds the member. Only the id leads to what is left.
  const foundId = operation === 'remove' ? found?.id : undefined;
  const { id, token, generation } = claim;
  const isOurs = isAbsentBeforeAdding ? true : undefined;
  const { numAffectedRows } = await prolong(tx, { id, token, generation, now, leasedUntil, isOurs, foundId });
  return numAffectedRows === 1n;
}

interface Prolongation extends HeldClaim {
  now: string;
  leasedUntil: string;
  isOurs?: true | undefined;
  foundId?: string | undefined;
}

const prolong = prepared((db, { now, leasedUntil, isOurs, foundId, ...claim }: Prolongation) =>
  db
    .updateTable('membership')
    .set((eb) => ({
      // A lease is twice as long as the time-out of a call, so a call that was given up takes effect before it expires.
      leasedUntil,
      lateUntil: leasedUntil,
      missedAt: null,
      isOurs,
      ...(foundId !== undefined && { memberId: eb.fn.coalesce('memberId', eb.val(foundId)) }),
    }))
    .where(isHeld(claim, now)),
);

type HeldClaim = Pick<Claim, 'id' | 'token' | 'generation'>;

/** Whether the claim still holds. */
function isHeld({ id, token: leaseToken, generation }: HeldClaim, now: string): MembershipCondition {
  return (eb) => eb.and([eb.and({ id, leaseToken, generation }), eb('leasedUntil', '>', now)]);
}

/** Gives a claim back unchanged. The membership is claimed again at `nextAttemptAt`. */
export async function putBackClaim(
  ctx: Storage,
  { id, token, generation }: Claim,
  nextAttemptAt: string,
): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx
      .updateTable('membership')
      .set((eb) => ({
        ...noLease,
        // A derivation that changed the membership meanwhile has set the time itself.
        nextAttemptAt: eb
          .case()
          .when('generation', '=', generation)
          .then(nextAttemptAt)
          .else(eb.ref('nextAttemptAt'))
          .end(),
      }))
      .where('id', '=', id)
      .where('leaseToken', '=', token)
      .execute(),
  );
}

export const noLease = { leaseToken: null, leasedUntil: null };

async function leaseDue(
  database: Database,
  tx: Transaction,
  order: MembershipClaimOrder,
): Promise<Row<'membership'>[]> {
  const { token, leasedUntil, limit, exclusiveBy } = order;
  // Without this lock two instances could both find the same group or trainer free.
  await takeTurn(database, tx, `claim ${order.tool}`);
  const due = tx
    .selectFrom('membership')
    .select(['id', 'groupId', 'trainerId'])
    .where(isClaimable(order))
    .orderBy('nextAttemptAt')
    .orderBy('id')
    .limit(limit);
  const found = await claimRows(database, due).execute();
  const ids = firstOfEach(found, exclusiveBy).map((row) => row.id);
  return await tx
    .updateTable('membership')
    .set({ leaseToken: token, leasedUntil, lookAgain: false })
    .where('id', 'in', ids)
    .returningAll()
    .execute();
}

function isClaimable({ tool, install, now, exclusiveBy }: MembershipClaimOrder): MembershipCondition {
  return (eb) =>
    eb.and([
      eb('tool', '=', tool),
      eb('membership.install', '=', install),
      eb('membership.nextAttemptAt', '<=', now),
      isFree('membership', now),
      isWorkable(eb),
      eb.not(isHeldBack(eb)),
      ...exclusiveBy.map((column) => eb.not(isWorkedOn(eb, column, now))),
    ]);
}

function isWorkedOn(
  eb: ExpressionBuilder<Tables, 'membership'>,
  column: 'groupId' | 'trainerId',
  now: string,
): Expression<SqlBool> {
  return eb.exists(
    eb
      .selectFrom('membership as other')
      .select('other.id')
      .whereRef('other.tool', '=', 'membership.tool')
      .whereRef(`other.${column}`, '=', `membership.${column}`)
      .where('other.leasedUntil', '>', now),
  );
}

function firstOfEach<Row extends { groupId: string; trainerId: string }>(
  rows: Row[],
  columns: MembershipClaimOrder['exclusiveBy'],
): Row[] {
  const taken = new Set<string>();
  return rows.filter((row) => {
    const keys = columns.map((column) => `${column} ${row[column]}`);
    if (keys.some((key) => taken.has(key))) return false;
    for (const key of keys) taken.add(key);
    return true;
  });
}

/** The names that this install knows, for display only. */
async function findNames(
  tx: Transaction,
  install: string,
  rows: Row<'membership'>[],
): Promise<Map<string, string | null>> {
  const trainerIds = rows.map((row) => row.trainerId);
  const people = await tx
    .selectFrom('person')
    .select(['trainerId', 'displayName'])
    .where('install', '=', install)
    .where('trainerId', 'in', trainerIds)
    .execute();
  return new Map(people.map(({ trainerId, displayName }) => [trainerId, displayName]));
}

/** By membership with an invitation: whether it must be renewed. */
async function findInvitations(tx: Transaction, ids: number[]): Promise<Map<number, boolean>> {
  const invitations = tx.selectFrom('invitation').select(['membershipId', 'isRenewalWanted']);
  const kept = await invitations.where('membershipId', 'in', ids).execute();
  return new Map(kept.map(({ membershipId, isRenewalWanted }) => [membershipId, isRenewalWanted]));
}

/** By membership: the password of a try that was never settled. */
async function findPasswords(tx: Transaction, box: SecretBox, membershipIds: number[]): Promise<Map<number, string>> {
  const intents = await tx
    .selectFrom('intent')
    .select(['membershipId', 'generation', 'credential'])
    .where('membershipId', 'in', membershipIds)
    .where('credential', 'is not', null)
    .orderBy('id')
    .execute();
  return new Map(
    intents.map(({ membershipId, generation, credential }) => {
      const context = credentialContext({ membershipId, generation });
      return [membershipId, box.open(credential ?? Buffer.of(), context).toString('utf8')];
    }),
  );
}

/** By trainer: `madeAt` of a claim. */
async function findMadeAt(
  tx: Transaction,
  tool: string,
  rows: Row<'membership'>[],
): Promise<Map<string, Map<string, string>>> {
  const ids = rows.flatMap(({ memberId, doubtedId }) => [memberId, doubtedId]).filter((id) => id !== null);
  const accounts = await tx
    .selectFrom('account')
    .select(['accountId', 'trainerId', 'madeAt'])
    .where('tool', '=', tool)
    .where('accountId', 'in', ids)
    .execute();
  const found = new Map<string, Map<string, string>>();
  for (const { accountId, trainerId, madeAt } of accounts) {
    if (trainerId === null || madeAt === null) continue;
    found.set(trainerId, (found.get(trainerId) ?? new Map()).set(accountId, madeAt));
  }
  return found;
}
