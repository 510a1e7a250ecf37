import type { Database, Transaction } from '../../db/database.ts';
import { jsonTexts } from '../../db/json-list.ts';
import type { HeldWorkDecision } from '../attribute/attribute-work.ts';

// The only SQL of what operators decided about held work.

/** The decisions about the work of these trainers, by the key of the work. */
export async function loadDecisions(
  database: Database,
  db: Transaction,
  trainerIds: readonly string[],
): Promise<Map<string, HeldWorkDecision>> {
  const rows = await db
    .selectFrom('usageDecision')
    .selectAll()
    .where('trainerId', 'in', jsonTexts(database, trainerIds))
    .execute();
  return new Map(
    rows.map(({ work, install, contractId, reason }) => {
      const contract = install === null || contractId === null ? null : { install, contractId };
      return [work, { contract, reason }];
    }),
  );
}

export async function keepDecision(
  tx: Transaction,
  work: { key: string; trainerId: string },
  { contract, reason }: HeldWorkDecision,
  decidedAt: string,
): Promise<void> {
  const decided = { install: contract?.install ?? null, contractId: contract?.contractId ?? null, reason, decidedAt };
  await tx
    .insertInto('usageDecision')
    .values({ work: work.key, trainerId: work.trainerId, ...decided })
    .onConflict((conflict) => conflict.column('work').doUpdateSet(decided))
    .execute();
}

/** @returns whether there was one */
export async function dropDecision(tx: Transaction, work: string): Promise<boolean> {
  const { numDeletedRows } = await tx.deleteFrom('usageDecision').where('work', '=', work).executeTakeFirst();
  return numDeletedRows > 0n;
}
