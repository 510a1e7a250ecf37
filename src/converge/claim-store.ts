import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { claimRows, isFree, takeTurn } from '../db/lease.ts';
import type { Row, Tables } from '../db/schema.ts';
import type { MembershipState } from '../domain/membership.ts';
import type { Storage } from '../keys/storage.ts';
import { addressesOfMemberships, type GivenAddress } from '../memberships/address-store.ts';
import { isHeldBack, isWorkable } from '../memberships/membership-store.ts';
import { findMadeAt, findNames, findPasswords, findRenewals } from './claim-details-store.ts';

// The SQL of claiming. A claim is a lease with a token. A worker that lost the lease can no longer settle, and a worker
// that decided under an older generation can no longer begin a call. A removal that the brake has not cleared is never
// claimed.

/** The work of a dead worker is taken over after this time. */
export const convergeLeaseMs = 30_000;

export interface MembershipClaimOrder {
  tool: string;
  install: string;
  token: string;
  now: string;
  leasedUntil: string;
  limit: number;
  /** What only one claim at a time may hold: a group, or a trainer's account. */
  exclusiveBy: readonly ('groupId' | 'trainerId')[];
  /** Whether adding a member makes a login with a password of ours. */
  makesLogins?: boolean;
}

export interface Claim {
  id: number;
  token: string;
  tool: string;
  install: string;
  groupId: string;
  trainerId: string;
  wanted: boolean;
  generation: number;
  state: MembershipState;
  memberId: string | null;
  /** An account that was the trainer's and may be another person's now. */
  doubtedId: string | null;
  /** By the tool's id: when it made the accounts that are known to be the trainer's. */
  madeAt: ReadonlyMap<string, string>;
  /** Whether we made the membership of `memberId`. */
  isOurs: boolean;
  attempts: number;
  /** Until when an earlier call with unknown outcome may still take effect. */
  lateUntil: string | null;
  /** When a look first did not find a member who is not wanted. */
  missedAt: string | null;
  /** Since when the tool should show what is wanted; null if it showed that before. */
  unmetSince: string | null;
  /** The span of the delivery that decided what is wanted. */
  traceContext: string | null;
  /** Since when it is due. */
  dueAt: string;
  /** Its current address. */
  email: string | null;
  /** All its addresses, current and former. */
  addresses: readonly GivenAddress[];
  displayName: string | null;
  /** The password of an earlier try whose outcome is unknown. The next try must use the same one. */
  password: string | null;
  /** Whether a pending invitation must be renewed. */
  isRenewalWanted: boolean;
}

/** The installs with a membership that is due in the tool. */
export async function installsWithMembershipsDue(ctx: Storage, tool: string, now: string): Promise<string[]> {
  // Skips from install to install in the index, however many memberships each has due.
  const { rows } = await sql<{ install: string }>`
    with recursive turn (install) as (
      select min(install) from membership
        where tool = ${tool} and next_attempt_at is not null
      union all
      select (select min(install) from membership
        where tool = ${tool} and next_attempt_at is not null and install > turn.install)
        from turn where turn.install is not null
    )
    select install from turn where exists (
      select 1 from membership where tool = ${tool} and membership.install = turn.install
        and next_attempt_at <= ${now})`.execute(ctx.database.kysely);
  return rows.map((row) => row.install);
}

export async function claimMemberships(ctx: Storage, order: MembershipClaimOrder): Promise<Claim[]> {
  return await inTransaction(ctx.database, async (tx) => {
    const rows = await leaseDue(ctx.database, tx, order);
    const names = await findNames(tx, order.install, rows);
    const addresses = await addressesOfMemberships(
      ctx,
      tx,
      rows.map(({ id }) => id),
    );
    const renewals = await findRenewals(tx, rows);
    const madeAt = await findMadeAt(tx, order.tool, rows);
    const passwords = order.makesLogins ? await findPasswords(tx, ctx.box, rows) : new Map();
    return rows.map((row) => ({
      ...toClaim(row, order.token, addresses.get(row.id) ?? []),
      madeAt: madeAt.get(row.trainerId) ?? new Map(),
      displayName: names.get(row.trainerId) ?? null,
      password: passwords.get(row.id) ?? null,
      isRenewalWanted: renewals.has(row.id),
    }));
  });
}

/**
 * Prolongs the lease for one more call without an intent of its own.
 *
 * @returns false if the claim no longer holds, so that nothing more may be done under it
 */
export function prolongClaim(
  ctx: Storage,
  { id, token, generation }: Claim,
  now: string,
  leasedUntil: string,
): Promise<boolean> {
  return inTransaction(ctx.database, async (tx) => {
    const held = await tx
      .updateTable('membership')
      .set({ leasedUntil, lateUntil: leasedUntil })
      .where('id', '=', id)
      .where('leaseToken', '=', token)
      .where('leasedUntil', '>', now)
      .where('generation', '=', generation)
      .executeTakeFirst();
    return held.numUpdatedRows === 1n;
  });
}

/** Gives a claim back without any change, to be claimed again at `nextAttemptAt`. */
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
        // If a derivation changed the membership meanwhile, it has set the time itself.
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

/** Makes failed memberships due again, because the tool answers again. */
export async function retryFailedOfTool(ctx: Storage, tool: string, now: string): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx
      .updateTable('membership')
      .set({ nextAttemptAt: now })
      .where('tool', '=', tool)
      .where('nextAttemptAt', '>', now)
      .where('attempts', '>', 0)
      .execute(),
  );
}

/**
 * Makes memberships due that failed because the tool seemed to refuse our token. Its check has shown that it accepts
 * the token.
 *
 * @param mostAttempts leaves out memberships that were refused more often
 */
export async function retryRefusedOfTool(
  ctx: Storage,
  tool: string,
  now: string,
  mostAttempts?: number,
): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    const refused = tx.updateTable('membership').set({ nextAttemptAt: now }).where(isRefused(tool, now));
    const few = mostAttempts && refused.where('attempts', '<=', mostAttempts);
    await (few || refused).execute();
  });
}

/** Whether there are memberships that failed because the tool seemed to refuse our token. */
export async function hasRefusedMemberships(ctx: Storage, tool: string, now: string): Promise<boolean> {
  const refused = ctx.database.kysely.selectFrom('membership').select('id').limit(1);
  return (await refused.where(isRefused(tool, now)).executeTakeFirst()) !== undefined;
}

/** Decides by the last receipt: a tool that refuses a token answers 401 or 403 to everything. */
function isRefused(tool: string, now: string): Condition {
  return (eb) => {
    const last = eb
      .selectFrom('receipt')
      .select((receipt) => receipt.fn.max('receipt.id').as('id'))
      .whereRef('receipt.membershipId', '=', 'membership.id');
    const wasRefused = eb
      .selectFrom('receipt')
      .select('receipt.id')
      .where('receipt.id', '=', last)
      .where('receipt.toolStatus', 'in', [401, 403]);
    return eb.and([
      eb('membership.tool', '=', tool),
      eb('membership.state', '=', 'failed'),
      eb('membership.nextAttemptAt', '>', now),
      eb.exists(wasRefused),
    ]);
  };
}

export const noLease = { leaseToken: null, leasedUntil: null };

async function leaseDue(
  database: Database,
  tx: Transaction,
  order: MembershipClaimOrder,
): Promise<Row<'membership'>[]> {
  const { token, leasedUntil, limit, exclusiveBy } = order;
  const isShared = exclusiveBy.length > 0;
  // Without a lock, two instances that look at the same time would both find it free.
  if (isShared) await takeTurn(database, tx, `claim ${order.tool}`);
  const due = tx
    .selectFrom('membership')
    .select(['id', 'groupId', 'trainerId'])
    .where(isClaimable(order))
    .orderBy('nextAttemptAt')
    .orderBy('id')
    .limit(limit);
  const found = await claimRows(database, due).execute();
  const ids = firstOfEach(found, exclusiveBy).map((row) => row.id);
  if (ids.length === 0) return [];
  return await tx
    .updateTable('membership')
    .set({ leaseToken: token, leasedUntil, lookAgain: false })
    .where('id', 'in', ids)
    .returningAll()
    .execute();
}

type Condition = (eb: ExpressionBuilder<Tables, 'membership'>) => Expression<SqlBool>;

function isClaimable({ tool, install, now, exclusiveBy }: MembershipClaimOrder): Condition {
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

function toClaim(row: Row<'membership'>, token: string, addresses: readonly GivenAddress[]) {
  const { id, tool, install, groupId, trainerId, generation, state, attempts } = row;
  const { memberId, doubtedId, lateUntil, missedAt, unmetSince, traceContext } = row;
  return {
    id,
    token,
    tool,
    install,
    groupId,
    trainerId,
    generation,
    state,
    attempts,
    memberId,
    doubtedId,
    lateUntil,
    missedAt,
    unmetSince,
    traceContext,
    dueAt: row.nextAttemptAt ?? row.updatedAt,
    wanted: row.wanted,
    isOurs: row.isOurs,
    email: addresses.find(({ isCurrent }) => isCurrent)?.address ?? null,
    addresses,
  };
}
