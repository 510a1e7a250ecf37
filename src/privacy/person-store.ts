import { clearReceiptMessages } from '../converge/receipt-store.ts';
import type { Database, Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import { clearToolIds } from '../memberships/trace-store.ts';

/** The only SQL that finds one person and clears what concerns only them. */
export interface PersonStore {
  /** The trainers with this address digest, in one install or in any. */
  findByDigest(digest: string, install?: string): Promise<string[]>;
  /** Whether anything is or was known of a trainer. */
  isKnown(trainerId: string): Promise<boolean>;
  peopleOf(tx: Transaction, trainerId: string): Promise<Row<'person'>[]>;
  /** Every install that ever named the trainer. */
  installsOf(tx: Transaction, trainerId: string): Promise<string[]>;
  /** Clears what tools have said of members: their ids in the tool, which may be addresses, and messages. */
  clearToolTraces(tx: Transaction, membershipIds: number[]): Promise<void>;
  /** How many rows have any of that, including invitations. */
  countToolTraces(tx: Transaction, membershipIds: number[]): Promise<number>;
}

export function createPersonStore({ kysely }: Pick<Database, 'kysely'>): PersonStore {
  return {
    async findByDigest(digest, install) {
      let query = kysely.selectFrom('person').select('trainerId').distinct().where('workEmailDigest', '=', digest);
      if (install !== undefined) query = query.where('install', '=', install);
      const rows = await query.orderBy('trainerId').execute();
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

    peopleOf: (tx, trainerId) => tx.selectFrom('person').selectAll().where('trainerId', '=', trainerId).execute(),

    async installsOf(tx, trainerId) {
      const reasons = tx
        .selectFrom('reason')
        .innerJoin('membership', 'membership.id', 'reason.membershipId')
        .select('reason.install')
        .where('trainerId', '=', trainerId);
      const rows = await tx
        .selectFrom('participation')
        .select('install')
        .where('trainerId', '=', trainerId)
        .union(tx.selectFrom('person').select('install').where('trainerId', '=', trainerId))
        .union(tx.selectFrom('membership').select('install').where('trainerId', '=', trainerId))
        .union(reasons)
        .execute();
      return rows.map(({ install }) => install).sort();
    },

    async clearToolTraces(tx, membershipIds) {
      if (membershipIds.length === 0) return;
      await clearToolIds(tx, membershipIds);
      await clearReceiptMessages(tx, membershipIds);
    },

    async countToolTraces(tx, membershipIds) {
      if (membershipIds.length === 0) return 0;
      const memberships = await tx
        .selectFrom('membership')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('id', 'in', membershipIds)
        .where((eb) =>
          eb.or([eb('memberId', 'is not', null), eb('doubtedId', 'is not', null), eb('failure', 'is not', null)]),
        )
        .executeTakeFirstOrThrow();
      const receipts = await tx
        .selectFrom('receipt')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('message', 'is not', null)
        .where('membershipId', 'in', membershipIds)
        .executeTakeFirstOrThrow();
      const invitations = await tx
        .selectFrom('invitation')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('membershipId', 'in', membershipIds)
        .executeTakeFirstOrThrow();
      return [memberships, receipts, invitations].reduce((sum, { n }) => sum + Number(n), 0);
    },
  };
}
