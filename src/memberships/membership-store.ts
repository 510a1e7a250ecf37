import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { lockRows } from '../db/lease.ts';
import { onSame } from '../db/on-same.ts';
import type { MembershipRow, NewMembershipRow, ReasonRow, Tables } from '../db/tables.ts';
import type { Absences } from '../domain/absences.ts';
import type { GrantEvidence, LinkEvidence, PairEvidence } from '../domain/evidence.ts';
import { type ContractRegisters, statusOfLink } from '../domain/evidence-status.ts';
import type { MembershipState } from '../domain/membership.ts';
import { retractRemovals } from './clearance-store.ts';
import { createDerivationStore, type DerivationStore } from './derivation-store.ts';
import {
  countByState,
  type ListedMembership,
  listMemberships,
  type MembershipFilter,
} from './membership-list-store.ts';

/** The only SQL about memberships: what derivation reads and writes, and what a person may see. */
export interface MembershipStore extends DerivationStore {
  /** Everything that could be a reason for these trainers, with the registers that decide it. */
  participationsOf(tx: Transaction, trainerIds: string[]): Promise<Participation[]>;
  membershipsOf(tx: Transaction, trainerIds: string[]): Promise<MembershipRow[]>;
  reasonsOf(tx: Transaction, membershipIds: number[]): Promise<ReasonRow[]>;
  grantsOf(tx: Transaction, installs: string[]): Promise<GrantEvidence[]>;
  /** Live links of these projects. */
  heirsOf(tx: Transaction, projects: ProjectKey[]): Promise<LinkEvidence[]>;
  /** @returns the new ids, in the order of the rows */
  insert(tx: Transaction, rows: NewMembershipRow[]): Promise<number[]>;
  recordReasons(tx: Transaction, rows: ReasonRow[]): Promise<void>;
  /** Takes back what the brake let pass and nobody has executed. */
  retractRemovals(tx: Transaction, membershipIds: number[]): Promise<void>;
  update(tx: Transaction, id: number, values: Partial<MembershipRow>): Promise<void>;
  /** Has those tried now whom a tool has refused, or could not do, and who wait for another try. */
  tryAgain(tx: Transaction, installs: readonly string[], now: string): Promise<void>;
  list(filter: MembershipFilter): Promise<ListedMembership[]>;
  countByState(): Promise<{ tool: string; state: MembershipState; count: number }[]>;
}

export type Participation = ContractRegisters &
  Pick<
    LinkEvidence,
    'linkId' | 'removedEventAt' | 'seenAt' | 'externalProjectId' | 'externalProjectName' | 'provisioningMode' | 'jobId'
  > &
  Omit<PairEvidence, 'linkId'> & {
    trainerId: string;
    /** When the trainer was last seen on the contract. */
    onItAt: string | null;
    linkAbsences: Absences;
    participationAbsences: Absences;
  };

export interface ProjectKey {
  install: string;
  externalProjectId: string;
}

/** Whoever is on a contract, by every link that the contract is on. */
export function linkedParticipations(tx: Transaction) {
  return tx
    .selectFrom('participation')
    .innerJoin('contract', onSame('contract', 'participation', ['install', 'contractId']))
    .innerJoin('contractLink', onSame('contractLink', 'participation', ['install', 'contractId']))
    .innerJoin('link', onSame('link', 'contractLink', ['install', 'linkId']));
}

export function createMembershipStore(database: Database): MembershipStore {
  const { kysely } = database;
  return {
    async participationsOf(tx, trainerIds) {
      return await linkedParticipations(tx)
        .select([
          'participation.install',
          'participation.trainerId',
          'participation.contractId',
          'contract.startedEventAt',
          'contract.endedEventAt',
          'contract.activeReadAt',
          'contract.endedReadAt',
          'contract.endedByOperatorAt',
          'contract.reopenedAt',
          'participation.seenAt as onItAt',
          'participation.absences as participationAbsences',
          'namedAt',
          'omissions',
          'link.linkId',
          'link.removedEventAt',
          'link.seenAt',
          'link.absences as linkAbsences',
          'link.externalProjectId',
          'link.externalProjectName',
          'link.provisioningMode',
          'link.jobId',
        ])
        .where('participation.trainerId', 'in', trainerIds)
        .execute();
    },

    async membershipsOf(tx, trainerIds) {
      const rows = tx.selectFrom('membership').selectAll().where('trainerId', 'in', trainerIds);
      // What a call is about to do must not change between this reading and the writing after it.
      return await lockRows(database, rows).execute();
    },

    async reasonsOf(tx, membershipIds) {
      if (membershipIds.length === 0) return [];
      const reasons = tx.selectFrom('reason').selectAll();
      return await reasons.where('membershipId', 'in', membershipIds).execute();
    },

    async grantsOf(tx, installs) {
      if (installs.length === 0) return [];
      const grants = tx.selectFrom('installGrant').selectAll();
      return await grants.where('install', 'in', installs).execute();
    },

    async heirsOf(tx, projects) {
      if (projects.length === 0) return [];
      const values = projects.map((key) => sql`(${key.install}, ${key.externalProjectId})`);
      const links = await tx
        .selectFrom('link')
        .selectAll()
        .where(sql<boolean>`(install, external_project_id) in (values ${sql.join(values)})`)
        .execute();
      return links.filter((link) => statusOfLink(link) === 'live');
    },

    async insert(tx, rows) {
      // One at a time: nothing promises that `returning` keeps the order of the rows.
      const ids: number[] = [];
      for (const row of rows) {
        const { id } = await tx.insertInto('membership').values(row).returning('id').executeTakeFirstOrThrow();
        ids.push(id);
      }
      return ids;
    },

    async recordReasons(tx, rows) {
      if (rows.length === 0) return;
      await tx
        .insertInto('reason')
        .values(rows)
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },

    retractRemovals,

    async update(tx, id, values) {
      await tx.updateTable('membership').set(values).where('id', '=', id).execute();
    },

    async tryAgain(tx, installs, now) {
      if (installs.length === 0) return;
      await tx
        .updateTable('membership')
        .set({ nextAttemptAt: now })
        .where('install', 'in', installs)
        .where('nextAttemptAt', '>', now)
        .where((eb) => eb.or([eb('state', '=', 'failed'), eb('failure', 'is not', null)]))
        .execute();
    },

    ...createDerivationStore(database),
    list: (filter) => listMemberships(kysely, filter),
    countByState: () => countByState(kysely),
  };
}

/**
 * Neither a removal that nobody has let pass, nor what waits for an address, for a decision or for
 * the configuration.
 */
export function mayBeWorkedOn(eb: ExpressionBuilder<Tables, 'membership'>): Expression<SqlBool> {
  return eb.and([
    eb.or([eb('wanted', '=', 1), eb('clearedGeneration', '=', eb.ref('membership.generation'))]),
    eb('state', 'not in', ['waiting_email', 'held', 'orphaned', 'released']),
  ]);
}

/** Older than a silence after which the marketplace has not been read yet (section 4.5). */
export function isHeldBack(eb: ExpressionBuilder<Tables, 'membership'>): Expression<SqlBool> {
  return eb.exists(
    eb
      .selectFrom('installState')
      .select('installState.install')
      .whereRef('installState.install', '=', 'membership.install')
      .whereRef('installState.heldSince', '>', 'membership.updatedAt'),
  );
}
