import type { Storage } from '../context.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { hasRows } from '../db/query.ts';
import type { ToolTrouble } from '../domain/tool-trouble.ts';
import { isHeldBack, isWorkable, type MembershipCondition } from '../memberships/membership-store.ts';

// The SQL of tools in trouble, and of the memberships that wait for them. It shows other processes the state of a
// breaker.

export type WaitingMemberships = Awaited<ReturnType<typeof listWaitingOfTools>>[number];

/** Records trouble. `since` stays while the error is the same. */
export async function recordToolTrouble(
  ctx: Storage,
  { tool, errorCode, message, since, asksAgainAt }: ToolTrouble,
): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx
      .insertInto('toolTrouble')
      .values({ tool, errorCode, message, since, asksAgainAt })
      .onConflict((conflict) =>
        conflict.column('tool').doUpdateSet((eb) => ({
          since: eb
            .case()
            .when('toolTrouble.errorCode', '=', errorCode)
            .then(eb.ref('toolTrouble.since'))
            .else(since)
            .end(),
          errorCode,
          message,
          asksAgainAt,
        })),
      )
      .execute(),
  );
}

export async function clearToolTrouble(ctx: Storage, tool: string): Promise<void> {
  await inTransaction(ctx.database, (tx) => tx.deleteFrom('toolTrouble').where('tool', '=', tool).execute());
}

export function listToolTroubles(ctx: Storage): Promise<ToolTrouble[]> {
  return ctx.database.kysely.selectFrom('toolTrouble').selectAll().orderBy('tool').execute();
}

/**
 * Counts the memberships whose call is due or will be retried, by what they wait for. Only refused ones need an
 * operator.
 */
export async function listWaitingOfTools(ctx: Storage) {
  const rows = await ctx.database.kysely
    .selectFrom(selectWaiting(ctx.database).as('waiting'))
    .select((eb) => ['tool', 'wanted', 'state', 'failure', eb.fn.countAll<number>().as('count')])
    .select((eb) => eb.fn.min('since').as('since'))
    .groupBy(['tool', 'wanted', 'state', 'failure'])
    .execute();
  return rows.map(({ wanted, state, ...row }) => ({ ...row, isWanted: wanted, isRefused: state === 'failed' }));
}

/** Some of their trainers, those who have waited longest first. */
export async function nameWaitingOfTool(ctx: Storage, tool: string, limit: number): Promise<string[]> {
  const rows = await ctx.database.kysely
    .selectFrom(selectWaiting(ctx.database).as('waiting'))
    .select((eb) => ['trainerId', eb.fn.min('since').as('since')])
    .where('tool', '=', tool)
    .groupBy('trainerId')
    .orderBy('since')
    .orderBy('trainerId')
    .limit(limit)
    .execute();
  return rows.map(({ trainerId }) => trainerId);
}

/** Memberships whose call is due or will be retried, and since when. */
function selectWaiting({ kysely }: Database) {
  return kysely
    .selectFrom('membership')
    .select(['id', 'install', 'tool', 'trainerId', 'wanted', 'state', 'failure'])
    .select((eb) =>
      eb.fn
        .coalesce(
          eb
            .selectFrom('receipt')
            .select((of) => of.fn.min('createdAt').as('at'))
            .whereRef('receipt.membershipId', '=', 'membership.id')
            .whereRef('receipt.generation', '=', 'membership.generation')
            .where('outcome', 'in', ['failed', 'refused', 'unproven']),
          'membership.updatedAt',
        )
        .as('since'),
    )
    .where('nextAttemptAt', 'is not', null)
    .where('state', 'in', ['pending', 'removing', 'failed'])
    .where(isWorkable)
    .where((eb) => eb.not(isHeldBack(eb)));
}

/** Makes failed memberships due, because the tool answers again. */
export async function retryFailedOfTool(ctx: Storage, tool: string, now: string): Promise<void> {
  const failed: MembershipCondition = (eb) =>
    eb.and([eb('tool', '=', tool), eb('nextAttemptAt', '>', now), eb('attempts', '>', 0)]);
  await retry(ctx, failed, now);
}

/**
 * Makes memberships due that failed because the tool seemed to refuse our token, after a check has shown that it does
 * not.
 *
 * @param all also those that were refused more than once
 */
export async function retryRefusedOfTool(ctx: Storage, tool: string, now: string, all: boolean): Promise<void> {
  const refused = isRefused(tool, now);
  await retry(ctx, all ? refused : (eb) => eb.and([refused(eb), eb('attempts', '<=', 1)]), now);
}

async function retry(ctx: Storage, which: MembershipCondition, now: string): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx.updateTable('membership').set({ nextAttemptAt: now }).where(which).execute(),
  );
}

/** Whether memberships have failed because the tool seemed to refuse our token. */
export async function hasRefusedMemberships(ctx: Storage, tool: string, now: string): Promise<boolean> {
  return await hasRows(ctx.database.kysely.selectFrom('membership').where(isRefused(tool, now)));
}

/** By the last receipt: a tool that refuses a token answers 401 or 403. */
function isRefused(tool: string, now: string): MembershipCondition {
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
