import { createHash } from 'node:crypto';
import { inTransaction } from '../../db/database.ts';
import type { Storage } from '../../keys/storage.ts';
import type { HeldWorkDecision } from './attribute-work.ts';

// The only SQL of what operators decided about held work.

/** By `workKey`. */
export async function listWorkDecisions(ctx: Storage): Promise<Map<string, HeldWorkDecision>> {
  const rows = await ctx.database.kysely.selectFrom('usageDecision').selectAll().execute();
  return new Map(
    rows.map(({ work, install, contractId }) => {
      const isNone = install === null || contractId === null;
      return [work, isNone ? null : { install, contractId }];
    }),
  );
}

export async function decideWork(
  ctx: Storage,
  work: string,
  decision: HeldWorkDecision,
  decidedAt: string,
): Promise<void> {
  const { install = null, contractId = null } = decision ?? {};
  const decided = { install, contractId, decidedAt };
  await inTransaction(
    ctx.database,
    (tx) =>
      tx
        .insertInto('usageDecision')
        .values({ work, ...decided })
        .onConflict((conflict) => conflict.column('work').doUpdateSet(decided))
        .execute(),
    { isDurable: true },
  );
}

/** The short id of held work. It never changes. */
export function heldIdOf(work: string): string {
  return createHash('sha256').update(work).digest('hex').slice(0, 12);
}
