import type { Database } from '../../db/database.ts';
import { type LedgerRow, toLedgerRow } from './ledger-store.ts';

/** The SQL of days of the ledger that were reported lower than before, or would be; changes nothing. */
export interface LoweringStore {
  /** What waits for somebody to look, whatever its age, and what was reported since an instant. */
  list(installs: readonly string[], since: string): Promise<LedgerRow[]>;
  /** Of what waits. */
  countHeld(): Promise<InstallDays[]>;
  /** Of what was reported since an instant and has not risen again. */
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
