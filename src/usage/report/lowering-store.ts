import type { Database } from '../../db/database.ts';
import { type LedgerRow, toLedgerRow } from './ledger-store.ts';

/** The SQL that reads days of the ledger that were reported lower than before, or are held. It changes nothing. */
export interface LoweringStore {
  /** Held days of any age, and days that were reported lower since an instant. */
  list(installs: readonly string[], since: string): Promise<LedgerRow[]>;
  /** Days that are held. */
  countHeld(): Promise<InstallDays[]>;
  /** Days that were reported lower since an instant and have not risen again. */
  countReported(since: string): Promise<InstallDays[]>;
}

export interface InstallDays {
  install: string;
  days: number;
}

export function createLoweringStore({ kysely }: Database): LoweringStore {
  const count = () =>
    kysely
      .selectFrom('usageLedger')
      .select(['install', kysely.fn.countAll<number>().as('days')])
      .groupBy('install')
      .orderBy('install');
  return {
    async list(installs, since) {
      const rows: LedgerRow[] = [];
      for (const install of installs) {
        const lowered = await kysely
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
    },

    countHeld: () => count().where('loweringHeldAt', 'is not', null).execute(),
    countReported: (since) => count().where('loweredAt', '>=', since).execute(),
  };
}
