import { sql } from 'kysely';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { inParts, keyIn } from '../../db/key-in.ts';
import type { Storage } from '../../keys/storage.ts';
import type { DayKey } from './ledger-store.ts';

// The SQL that marks days of the ledger: to be sent once more, or held because they would be lowered.

/** Has days that were sent for the last time sent once more. */
export async function reopenDays(tx: Transaction, days: readonly DayKey[]): Promise<void> {
  for (const part of inParts(days)) {
    await tx
      .updateTable('usageLedger')
      .set({ closedAt: null })
      .where(keyIn(['install', 'contractId', 'trainerId', 'day'], part))
      .execute();
  }
}

/** Has days that an operator decided about sent once more, even where they are lowered to what is due. */
export async function releaseDays(tx: Transaction, days: readonly DayKey[]): Promise<void> {
  await reopenDays(tx, days);
  const dueOrTried = (name: string) =>
    sql<number | null>`coalesce((select d.${sql.raw(name)} from usage_due d
      where d.install = usage_ledger.install and d.contract_id = usage_ledger.contract_id
      and d.trainer_id = usage_ledger.trainer_id and d.day = usage_ledger.day), tried_${sql.raw(name)})`;
  for (const part of inParts(days)) {
    await tx
      .updateTable('usageLedger')
      .set({
        triedSeconds: dueOrTried('seconds'),
        triedTasks: dueOrTried('tasks'),
        triedLabels: dueOrTried('labels'),
      })
      .where('state', '=', 'answered')
      .where(keyIn(['install', 'contractId', 'trainerId', 'day'], part))
      .execute();
  }
}

/** Holds the lowering of days for an operator, or releases it. */
export async function holdLowerings(ctx: Storage, days: readonly DayKey[], since: string | null): Promise<void> {
  if (days.length === 0) return;
  await inTransaction(ctx.database, async (tx) => {
    for (const { install, contractId, trainerId, day } of days) {
      await tx
        .updateTable('usageLedger')
        .set({ loweringHeldAt: since })
        .where((eb) => eb.and({ install, contractId, trainerId, day }))
        .execute();
    }
  });
}
