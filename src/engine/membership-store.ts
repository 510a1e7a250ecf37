import { sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import type { MembershipRow, NewMembershipRow } from '../db/tables.ts';
import type { ContractEvidence, LinkEvidence } from '../domain/evidence.ts';
import type { MembershipState } from '../domain/membership.ts';

/** The only SQL about memberships: what derivation reads and writes, and what a person may see. */
export interface MembershipStore {
  /** Everything that could be a reason for these trainers, with the registers that decide it. */
  participationsOf(tx: Transaction, trainerIds: string[]): Promise<Participation[]>;
  membershipsOf(tx: Transaction, trainerIds: string[]): Promise<MembershipRow[]>;
  /** Where an install knows the address of one of these trainers, as `install/trainer`. */
  knownAddresses(tx: Transaction, trainerIds: string[]): Promise<Set<string>>;
  insert(tx: Transaction, rows: NewMembershipRow[]): Promise<void>;
  update(tx: Transaction, id: number, values: Partial<MembershipRow>): Promise<void>;
  /** Leaves trainers to be derived in a transaction of their own. */
  postponeDerivation(tx: Transaction, trainerIds: string[]): Promise<void>;
  hasPostponed(): Promise<boolean>;
  takePostponed(tx: Transaction, limit: number): Promise<string[]>;
  list(filter: MembershipFilter): Promise<ListedMembership[]>;
  countByState(): Promise<{ tool: string; state: MembershipState; count: number }[]>;
}

export type Participation = Omit<ContractEvidence, 'title' | 'titleVersion' | 'budgetEventAt'> &
  LinkEvidence & { trainerId: string };

export interface MembershipFilter {
  tool?: string | undefined;
  state?: MembershipState | undefined;
  limit: number;
}

export type ListedMembership = Pick<
  MembershipRow,
  | 'id'
  | 'tool'
  | 'groupId'
  | 'trainerId'
  | 'wanted'
  | 'state'
  | 'memberId'
  | 'attempts'
  | 'nextAttemptAt'
  | 'failure'
  | 'updatedAt'
> & { displayName: string | null };

export function createMembershipStore(database: Database): MembershipStore {
  const { kysely } = database;
  return {
    async participationsOf(tx, trainerIds) {
      return await tx
        .selectFrom('participation')
        .innerJoin('contract', (join) =>
          join
            .onRef('contract.install', '=', 'participation.install')
            .onRef('contract.contractId', '=', 'participation.contractId'),
        )
        .innerJoin('contractLink', (join) =>
          join
            .onRef('contractLink.install', '=', 'participation.install')
            .onRef('contractLink.contractId', '=', 'participation.contractId'),
        )
        .innerJoin('link', (join) =>
          join
            .onRef('link.install', '=', 'contractLink.install')
            .onRef('link.linkId', '=', 'contractLink.linkId'),
        )
        .select([
          'participation.install',
          'participation.trainerId',
          'participation.contractId',
          'contract.startedEventAt',
          'contract.endedEventAt',
          'contract.activeReadAt',
          'contract.endedReadAt',
          'link.linkId',
          'link.removedEventAt',
          'link.externalProjectId',
          'link.externalProjectName',
          'link.provisioningMode',
        ])
        .where('participation.trainerId', 'in', trainerIds)
        .execute();
    },

    async membershipsOf(tx, trainerIds) {
      const rows = tx.selectFrom('membership').selectAll().where('trainerId', 'in', trainerIds);
      // What a call is about to do must not change between this reading and the writing after it.
      return await (database.dialect === 'postgres' ? rows.forUpdate() : rows).execute();
    },

    async knownAddresses(tx, trainerIds) {
      const rows = await tx
        .selectFrom('person')
        .select(['install', 'trainerId'])
        .where('trainerId', 'in', trainerIds)
        .where('workEmail', 'is not', null)
        .execute();
      return new Set(rows.map((row) => `${row.install}/${row.trainerId}`));
    },

    async insert(tx, rows) {
      await tx.insertInto('membership').values(rows).execute();
    },

    async update(tx, id, values) {
      await tx.updateTable('membership').set(values).where('id', '=', id).execute();
    },

    async postponeDerivation(tx, trainerIds) {
      await tx
        .insertInto('derivation')
        .values(trainerIds.map((trainerId) => ({ trainerId })))
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },

    async hasPostponed() {
      const postponed = kysely.selectFrom('derivation').select('trainerId').limit(1);
      return (await postponed.executeTakeFirst()) !== undefined;
    },

    async takePostponed(tx, limit) {
      const due = tx.selectFrom('derivation').select('trainerId').orderBy('trainerId').limit(limit);
      const taken = await tx
        .deleteFrom('derivation')
        .where('trainerId', 'in', due)
        .returning('trainerId')
        .execute();
      return taken.map((row) => row.trainerId);
    },

    async list({ tool, state, limit }) {
      let query = kysely.selectFrom('membership').select((eb) => [
        'id',
        'tool',
        'groupId',
        'membership.trainerId',
        'wanted',
        'state',
        'memberId',
        'attempts',
        'nextAttemptAt',
        'failure',
        'updatedAt',
        eb
          .selectFrom('person')
          .select((inner) => inner.fn.max('displayName').as('name'))
          .whereRef('person.trainerId', '=', 'membership.trainerId')
          .as('displayName'),
      ]);
      if (tool !== undefined) query = query.where('tool', '=', tool);
      if (state !== undefined) query = query.where('state', '=', state);
      return await query
        .orderBy('tool')
        .orderBy('groupId')
        .orderBy('membership.trainerId')
        .limit(limit)
        .execute();
    },

    async countByState() {
      return await kysely
        .selectFrom('membership')
        .select(['tool', 'state', sql<number>`count(*)`.as('count')])
        .groupBy(['tool', 'state'])
        .execute();
    },
  };
}
