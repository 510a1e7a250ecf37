import type { Storage } from '../../keys/storage.ts';
import { type LedgerRow, toLedgerRow } from './ledger-store.ts';

// The SQL that reads days of the ledger that were reported lower than before, or are held. It changes nothing.

export interface InstallDays {
  install: string;
  days: number;
}

/** Held days of any age, and days that were reported lower since an instant. */
export async function listLoweredDays(ctx: Storage, installs: readonly string[], since: string): Promise<LedgerRow[]> {
  const rows: LedgerRow[] = [];
  for (const install of installs) {
    const lowered = await ctx.database.kysely
      .selectFrom('usageLedger')
      .selectAll()
      .where('install', '=', install)
      .where((eb) => eb.or([eb('loweringHeldAt', 'is not', null), eb('loweredAt', '>=', since)]))
      .orderBy('day')
      .orderBy('contractId')
      .orderBy('trainerId')
      .execute();
    for (const row of lowered) rows.push(toLedgerRow(row));
  }
  return rows;
}

/** Days that are held. */
export function countHeldDays(ctx: Storage): Promise<InstallDays[]> {
  return count(ctx).where('loweringHeldAt', 'is not', null).execute();
}

/** Days that were reported lower since an instant and have not risen again. */
export function countReportedDays(ctx: Storage, since: string): Promise<InstallDays[]> {
  return count(ctx).where('loweredAt', '>=', since).execute();
}

function count(ctx: Storage) {
  return ctx.database.kysely
    .selectFrom('usageLedger')
    .select((eb) => ['install', eb.fn.countAll<number>().as('days')])
    .groupBy('install')
    .orderBy('install');
}
