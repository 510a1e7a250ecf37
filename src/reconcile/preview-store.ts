import type { Database, Transaction } from '../db/database.ts';
import type { MembershipRow } from '../db/tables.ts';

/** The SQL of looking ahead: whom a reading touches, and what is under way already. */
export interface PreviewStore {
  /** Trainers that are left to be derived. */
  postponed(tx: Transaction): Promise<string[]>;
  /** Which of an install's contracts these trainers are known to be on. */
  contractsOf(tx: Transaction, install: string, trainerIds: string[]): Promise<string[]>;
  /** Memberships of an install that are to be brought in line. */
  underway(install: string): Promise<MembershipRow[]>;
}

export function createPreviewStore({ kysely }: Database): PreviewStore {
  return {
    async postponed(tx) {
      const rows = await tx.selectFrom('derivation').select('trainerId').execute();
      return rows.map(({ trainerId }) => trainerId);
    },

    async contractsOf(tx, install, trainerIds) {
      const rows = await tx
        .selectFrom('participation')
        .select('contractId')
        .distinct()
        .where('install', '=', install)
        .where('trainerId', 'in', trainerIds)
        .execute();
      return rows.map(({ contractId }) => contractId);
    },

    underway: (install) =>
      kysely
        .selectFrom('membership')
        .selectAll()
        .where('install', '=', install)
        .where('state', 'in', ['pending', 'removing'])
        .execute(),
  };
}
