import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Storage } from '../context.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { hasRows } from '../db/query.ts';
import type { Tables } from '../db/schema.ts';
import type { ToolTrouble } from '../domain/tool-trouble.ts';
import { isHeldBack, isWorkable } from '../memberships/membership-store.ts';

// The SQL of tools in trouble, so that other processes know what a breaker knows.

export type WaitingMemberships = Awaited<ReturnType<typeof listWaitingOfTools>>[number];

/** Records trouble. As long as it is the same trouble, it keeps the time when it began. */
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
 * Counts memberships whose call is due, or has failed and will be retried, grouped by what they wait for. A tool that
 * refuses them needs an operator, and is shown separately.
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

/** Names some of these trainers, those who have waited longest first. */
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

/** Memberships whose call is due, or has failed and will be retried, and since when. */
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

/** Makes failed memberships due again, because the tool answers again. */
export async function retryFailedOfTool(ctx: Storage, tool: string, now: string): Promise<void> {
  const failed: Condition = (eb) =>
    eb.and([eb('tool', '=', tool), eb('nextAttemptAt', '>', now), eb('attempts', '>', 0)]);
  await retry(ctx, failed, now);
}

/**
 * Makes memberships due that failed because the tool seemed to refuse our token. Its check has shown that it accepts
 * the token.
 *
 * @param mostAttempts leaves out memberships that were refused more often
 */
export async function retryRefusedOfTool(ctx: Storage, tool: string, now: string, mostAttempts: number): Promise<void> {
  await retry(ctx, (eb) => eb.and([isRefused(tool, now)(eb), eb('attempts', '<=', mostAttempts)]), now);
}

async function retry(ctx: Storage, which: Condition, now: string): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx.updateTable('membership').set({ nextAttemptAt: now }).where(which).execute(),
  );
}

/** Whether there are memberships that failed because the tool seemed to refuse our token. */
export async function hasRefusedMemberships(ctx: Storage, tool: string, now: string): Promise<boolean> {
  return await hasRows(ctx.database.kysely.selectFrom('membership').where(isRefused(tool, now)));
}

type Condition = (eb: ExpressionBuilder<Tables, 'membership'>) => Expression<SqlBool>;

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
