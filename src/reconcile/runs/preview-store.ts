import type { Database, Transaction } from '../../db/database.ts';
import type { Row } from '../../db/schema.ts';

/** The SQL of the dry run: which trainers a read affects, and what is under way already. */
export interface PreviewStore {
  /** Trainers whose memberships are still to be derived. */
  postponed(tx: Transaction): Promise<string[]>;
  /** The contracts of an install that these trainers are known to be on. */
  contractsOf(tx: Transaction, install: string, trainerIds: string[]): Promise<string[]>;
  /** Memberships of an install that are not converged. */
  underway(install: string): Promise<Row<'membership'>[]>;
  /** Memberships in open plans. */
  held(install: string): Promise<Row<'membership'>[]>;
  /** Memberships that a tool refused, or whose last call failed. */
  failed(install: string): Promise<Row<'membership'>[]>;
  /** @param ids at most a few hundred */
  find(ids: number[]): Promise<Row<'membership'>[]>;
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

    held: (install) =>
      kysely
        .selectFrom('membership')
        .innerJoin('planItem', (join) =>
          join
            .onRef('planItem.membershipId', '=', 'membership.id')
            .onRef('planItem.generation', '=', 'membership.generation'),
        )
        .innerJoin('plan', 'plan.id', 'planItem.planId')
        .selectAll('membership')
        .where('plan.install', '=', install)
        .where('plan.state', '=', 'open')
        .where('planItem.outcome', 'is', null)
        .execute(),

    failed: (install) =>
      kysely
        .selectFrom('membership')
        .selectAll()
        .where('install', '=', install)
        .where((eb) => eb.or([eb('state', '=', 'failed'), eb('failure', 'is not', null)]))
        .execute(),

    find: (ids) => kysely.selectFrom('membership').selectAll().where('id', 'in', ids).execute(),
  };
}
