import type { Storage } from '../context.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { countRows } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import { instantAfter } from '../lib/clock.ts';
import { addressOf } from '../memberships/identity-store.ts';
import { dueIfWorkable, isResetDue } from '../memberships/look-store.ts';
import { convergeLeaseMs } from './claim-store.ts';
import { type NewInvitation, wantAllRenewed } from './invitation-store.ts';

// The SQL of resetting sign-up links, where all members of a tool share one. Each removal counts a request in the
// transaction that settles it. A reset serves the requests that were counted when it was claimed, so a crash loses
// none. A claim schedules the next try after its lease.

/** With the number of requests at the time of the claim. */
export type ResetClaim = Pick<Row<'linkReset'>, 'tool' | 'groupId' | 'requests' | 'attempts'>;

/** Each reset renews all pending invitations, so one reset serves a batch of removals. */
const windowMs = 15 * 60_000;
/** The window if an operator must deliver the new links. */
const handedWindowMs = 60 * 60_000;

/** Claims all groups of the tool whose reset is due. */
export async function claimResets(ctx: Storage, tool: string, now: string, leasedUntil: string): Promise<ResetClaim[]> {
  // Mostly there is none, which needs no transaction.
  if ((await countDueResets(ctx, [tool], now)) === 0) return [];
  return await inTransaction(ctx.database, (tx) =>
    tx
      .updateTable('linkReset')
      .set((eb) => ({ attempts: eb('attempts', '+', 1), nextAttemptAt: leasedUntil }))
      .where('tool', '=', tool)
      .where('nextAttemptAt', '<=', now)
      .returning(['tool', 'groupId', 'requests', 'attempts'])
      .execute(),
  );
}

/** Records that these links were reset. Every invited member of the tool needs a new link. */
export function settleResets(ctx: Storage, claims: readonly ResetClaim[], now: string): Promise<void> {
  return inTransaction(ctx.database, async (tx) => {
    for (const claim of claims) await settleDone(tx, claim, now);
    // Also if the lease has expired, because the old links no longer work.
    const tools = new Set(claims.map(({ tool }) => tool));
    for (const tool of tools) await wantAllRenewed(tx, tool, now);
  });
}

export async function postponeReset(
  ctx: Storage,
  { tool, groupId, attempts }: ResetClaim,
  nextAttemptAt: string,
): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx
      .updateTable('linkReset')
      .set({ nextAttemptAt })
      .where((eb) => eb.and({ tool, groupId, attempts }))
      .where('nextAttemptAt', 'is not', null)
      .execute(),
  );
}

/** The number of resets that are due in these tools. */
export async function countDueResets(ctx: Storage, tools: readonly string[], now: string): Promise<number> {
  const due = ctx.database.kysely.selectFrom('linkReset').where('nextAttemptAt', '<=', now);
  return await countRows(due.where('tool', 'in', tools));
}

async function settleDone(tx: Transaction, { tool, groupId, requests }: ResetClaim, now: string): Promise<void> {
  await tx
    .updateTable('linkReset')
    .set((eb) => ({
      resetAt: now,
      attempts: 0,
      // A member who was removed meanwhile may know the new link.
      nextAttemptAt: eb.case().when('requests', '>', requests).then(instantAfter(now, windowMs)).else(null).end(),
    }))
    .where('tool', '=', tool)
    .where('groupId', '=', groupId)
    .execute();
  await lookAtRemoved(tx, { tool, groupId }, now);
}

/**
 * Looks once more for removed members, who may have used the link before the reset. If another reset is due, that one
 * does this.
 */
async function lookAtRemoved(
  tx: Transaction,
  { tool, groupId }: { tool: string; groupId: string },
  now: string,
): Promise<void> {
  await tx
    .updateTable('membership')
    .set((eb) => ({ nextAttemptAt: dueIfWorkable(eb, now) }))
    .where('tool', '=', tool)
    .where('groupId', '=', groupId)
    .where('state', '=', 'removed')
    .where('memberId', 'is not', null)
    .where((eb) => eb.exists(addressOf(eb).where('givenAt', 'is not', null).where('endedAt', 'is', null)))
    .where((eb) => eb.not(isResetDue(eb)))
    .execute();
}

/**
 * Requests a reset, because a removed member may know the link. It is due at once if no invited member has the link.
 * Otherwise requests are gathered for a while, because every reset makes new links necessary for all of them.
 */
export async function wantReset(
  tx: Transaction,
  { tool, groupId }: { tool: string; groupId: string },
  now: string,
): Promise<void> {
  const last = await lastResetOf(tx, tool);
  const ends = [
    instantAfter(now, await windowOfWaiting(tx, tool)),
    ...(last === null ? [] : [instantAfter(last, windowMs)]),
  ];
  const nextAttemptAt = ends.reduce((a, b) => (a > b ? a : b));
  await tx
    .insertInto('linkReset')
    .values({ tool, groupId, requests: 1, nextAttemptAt })
    .onConflict((conflict) =>
      conflict.columns(['tool', 'groupId']).doUpdateSet((eb) => ({
        requests: eb('linkReset.requests', '+', 1),
        nextAttemptAt: eb.fn.coalesce('linkReset.nextAttemptAt', eb.val(nextAttemptAt)),
      })),
    )
    .execute();
}

/**
 * Whether a link that was requested under this lease may have been reset meanwhile. Call it before the lease is given
 * up.
 */
export async function isOutdated(
  { dialect }: Database,
  tx: Transaction,
  { tool, id, token }: { tool: string; id: number; token: string },
  invitation: NewInvitation | undefined,
): Promise<boolean> {
  if (invitation?.content.kind !== 'link') return false;
  const resets = tx.selectFrom('linkReset').select('resetAt').where('tool', '=', tool);
  // Waits for a reset that is being settled, which would neither see this link nor be seen here.
  const rows = await (dialect === 'postgres' ? resets.forShare() : resets).execute();
  const lease = await tx
    .selectFrom('membership')
    .select('leasedUntil')
    .where('id', '=', id)
    .where('leaseToken', '=', token)
    .executeTakeFirst();
  if (!lease?.leasedUntil) return false;
  const askedAt = instantAfter(lease.leasedUntil, -convergeLeaseMs);
  return rows.some(({ resetAt }) => resetAt !== null && resetAt > askedAt);
}

/** When a link of the tool was last reset; null if none was. */
async function lastResetOf(tx: Transaction, tool: string): Promise<string | null> {
  const { resetAt } = await tx
    .selectFrom('linkReset')
    .select((eb) => eb.fn.max('resetAt').as('resetAt'))
    .where('tool', '=', tool)
    .executeTakeFirstOrThrow();
  return resetAt;
}

/** For how long requests are gathered: it depends on who has a link. */
async function windowOfWaiting(tx: Transaction, tool: string): Promise<number> {
  const rows = await tx
    .selectFrom('membership')
    .innerJoin('invitation', 'invitation.membershipId', 'membership.id')
    .select('deliveredBy')
    .distinct()
    .where('tool', '=', tool)
    .where('state', '=', 'invited')
    .where('wanted', '=', true)
    .where('kind', '=', 'link')
    .execute();
  if (rows.some(({ deliveredBy }) => deliveredBy === 'operator')) return handedWindowMs;
  return rows.length === 0 ? 0 : windowMs;
}
