import { type Database, inTransaction } from '../db/database.ts';
import type { ToolTrouble } from '../domain/tool-trouble.ts';
import type { Storage } from '../keys/storage.ts';
import { isHeldBack, isWorkable } from '../memberships/membership-store.ts';

// The SQL of tools in trouble, so that other processes know what a breaker knows.

export interface WaitingMemberships {
  tool: string;
  /** Whether they wait to be added; otherwise to be removed. */
  isWanted: boolean;
  /** Whether the tool refuses them. That needs an operator and is shown separately. */
  isRefused: boolean;
  failure: string | null;
  count: number;
  /** Since when the first of them waits. */
  since: string;
}

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

/** Counts memberships whose call is due, or has failed and will be retried, grouped by what they wait for. */
export async function listWaitingOfTools(ctx: Storage): Promise<WaitingMemberships[]> {
  const rows = await ctx.database.kysely
    .selectFrom(selectWaiting(ctx.database).as('waiting'))
    .select((eb) => ['tool', 'wanted', 'state', 'failure', eb.fn.countAll<number>().as('count')])
    .select((eb) => eb.fn.min('since').as('since'))
    .groupBy(['tool', 'wanted', 'state', 'failure'])
    .execute();
  return rows.map(({ tool, wanted, state, failure, count, since }) => ({
    tool,
    isWanted: wanted,
    isRefused: state === 'failed',
    failure,
    since,
    count: Number(count),
  }));
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
