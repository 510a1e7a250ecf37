import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { firstIdSince, upsert } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import { maxEnabled } from './decide-subscription.ts';
import type { Trouble } from './troubles.ts';

// The only SQL about the state of webhook endpoints as the watch sees it.

export interface SubscriptionRecord extends Pick<Row<'subscription'>, 'checkedAt' | 'creatingSince' | 'unmatchedAt'> {
  trouble: Trouble | null;
  /** Oldest first. */
  enabledAt: string[];
}

export async function findSubscription(ctx: Storage, install: string): Promise<SubscriptionRecord> {
  const row = await ctx.database.kysely
    .selectFrom('subscription')
    .selectAll()
    .where('install', '=', install)
    .executeTakeFirst();
  const { checkedAt = null, trouble = null, creatingSince = null, unmatchedAt = null, enabledAt = '[]' } = row ?? {};
  return {
    checkedAt,
    creatingSince,
    unmatchedAt,
    enabledAt: toInstants(enabledAt),
    trouble: trouble === null ? null : toTrouble(trouble),
  };
}

/** The installs with trouble. */
export async function listTroubledSubscriptions(ctx: Storage): Promise<{ install: string; trouble: Trouble }[]> {
  const rows = await ctx.database.kysely
    .selectFrom('subscription')
    .select(['install', 'trouble'])
    .where('trouble', 'is not', null)
    .orderBy('install')
    .execute();
  return rows.flatMap(({ install, trouble }) => (trouble === null ? [] : [{ install, trouble: toTrouble(trouble) }]));
}

/** Forgets all troubles, because without checks no trouble would ever end. */
export async function forgetSubscriptionTroubles(ctx: Storage): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx.updateTable('subscription').set({ trouble: null }).where('trouble', 'is not', null).execute(),
  );
}

/** @param checkedAt null if the check failed */
export function noteSubscriptionCheck(
  ctx: Storage,
  install: string,
  checkedAt: string | null,
  trouble: Trouble | null,
): Promise<void> {
  return writeSubscription(ctx, install, {
    ...(checkedAt !== null && { checkedAt }),
    trouble: trouble === null ? null : JSON.stringify(trouble),
  });
}

/** Durable when it resolves. From now on an endpoint may exist whose secret is not stored. */
export function beginCreatingEndpoint(ctx: Storage, install: string, now: string): Promise<void> {
  return writeSubscription(ctx, install, { creatingSince: now }, true);
}

/** Durable when it resolves, so that it is never enabled more often than is noted. */
export async function noteEndpointEnabled(ctx: Storage, install: string, at: string): Promise<void> {
  await inTransaction(
    ctx.database,
    async (tx) => {
      const row = await tx
        .selectFrom('subscription')
        .select('enabledAt')
        .where('install', '=', install)
        .executeTakeFirst();
      const enabledAt = [...toInstants(row?.enabledAt ?? '[]'), at].slice(-maxEnabled);
      await upsert(tx, 'subscription', ['install'], [{ install, enabledAt: JSON.stringify(enabledAt) }]);
    },
    { isDurable: true },
  );
}

export function noteUnmatchedSignature(ctx: Storage, install: string, unmatchedAt: string): Promise<void> {
  return writeSubscription(ctx, install, { unmatchedAt });
}

/** When the last delivery was accepted since then; null if none was. */
export async function lastAcceptedDelivery(ctx: Storage, install: string, since: string): Promise<string | null> {
  const row = await ctx.database.kysely
    .selectFrom('delivery')
    .select((eb) => eb.fn.max('receivedAt').as('at'))
    .where('id', '>=', await firstIdSince(ctx.database.kysely, 'delivery', 'receivedAt', since))
    .where('install', '=', install)
    .where('receivedAt', '>=', since)
    .executeTakeFirst();
  return row?.at ?? null;
}

/** Changes what is noted about the endpoint of an install. */
export async function writeSubscription(
  ctx: Storage,
  install: string,
  changes: Partial<Row<'subscription'>>,
  isDurable = false,
): Promise<void> {
  const row = { install, ...changes };
  await inTransaction(ctx.database, (tx) => upsert(tx, 'subscription', ['install'], [row]), { isDurable });
}

/** Forgets the subscription of an install that is removed. */
export async function dropSubscription(tx: Transaction, install: string): Promise<void> {
  await tx.deleteFrom('subscription').where('install', '=', install).execute();
}

function toInstants(text: string): string[] {
  return JSON.parse(text) as string[];
}

function toTrouble(text: string): Trouble {
  return JSON.parse(text) as Trouble;
}
