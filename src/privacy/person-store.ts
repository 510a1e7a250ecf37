import type { Database, Transaction } from '../db/database.ts';
import type { PersonTable } from '../db/tables.ts';

/** The only SQL that looks for one person, and clears what is known of them alone. */
export interface PersonStore {
  /** Trainers who are known, in any install, by one of these digests of their address. */
  findByDigest(digests: string[]): Promise<string[]>;
  /** Whether anything is or was known of a trainer. */
  isKnown(trainerId: string): Promise<boolean>;
  peopleOf(tx: Transaction, trainerId: string): Promise<PersonTable[]>;
  /**
   * Clears what a tool has said of them: their ids there, which may be addresses, and messages.
   *
   * @returns how many rows had something
   */
  clearToolTraces(tx: Transaction, trainerId: string): Promise<number>;
  /** The same, and their invitations. */
  countToolTraces(tx: Transaction, trainerId: string): Promise<number>;
}

export function createPersonStore({ kysely }: Pick<Database, 'kysely'>): PersonStore {
  return {
    async findByDigest(digests) {
      const rows = await kysely
        .selectFrom('person')
        .select('trainerId')
        .distinct()
        .where('workEmailDigest', 'in', digests)
        .orderBy('trainerId')
        .execute();
      return rows.map(({ trainerId }) => trainerId);
    },

    async isKnown(trainerId) {
      for (const table of ['participation', 'person', 'membership'] as const) {
        const row = await kysely
          .selectFrom(table)
          .select('trainerId')
          .where('trainerId', '=', trainerId)
          .limit(1)
          .executeTakeFirst();
        if (row !== undefined) return true;
      }
      return false;
    },

    peopleOf: (tx, trainerId) =>
      tx.selectFrom('person').selectAll().where('trainerId', '=', trainerId).execute(),

    async clearToolTraces(tx, trainerId) {
      const memberships = await tx
        .updateTable('membership')
        .set({ memberId: null, failure: null })
        .where('trainerId', '=', trainerId)
        .where((eb) => eb.or([eb('memberId', 'is not', null), eb('failure', 'is not', null)]))
        .executeTakeFirst();
      const receipts = await tx
        .updateTable('receipt')
        .set({ message: null })
        .where('message', 'is not', null)
        .where('membershipId', 'in', (eb) =>
          eb.selectFrom('membership').select('id').where('trainerId', '=', trainerId),
        )
        .executeTakeFirst();
      return Number(memberships.numUpdatedRows + receipts.numUpdatedRows);
    },

    async countToolTraces(tx, trainerId) {
      const memberships = await tx
        .selectFrom('membership')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('trainerId', '=', trainerId)
        .where((eb) => eb.or([eb('memberId', 'is not', null), eb('failure', 'is not', null)]))
        .executeTakeFirstOrThrow();
      const receipts = await tx
        .selectFrom('receipt')
        .innerJoin('membership', 'membership.id', 'receipt.membershipId')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('receipt.message', 'is not', null)
        .where('membership.trainerId', '=', trainerId)
        .executeTakeFirstOrThrow();
      const invitations = await tx
        .selectFrom('invitation')
        .innerJoin('membership', 'membership.id', 'invitation.membershipId')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('membership.trainerId', '=', trainerId)
        .executeTakeFirstOrThrow();
      return [memberships, receipts, invitations].reduce((sum, { n }) => sum + Number(n), 0);
    },
  };
}
