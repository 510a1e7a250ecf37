import type { Expression, ExpressionBuilder, Insertable, SqlBool } from 'kysely';
import type { Storage } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { lockRows } from '../db/lock.ts';
import { keyIn, onSame } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import type { Absences, GrantEvidence, LinkEvidence, PairEvidence } from '../domain/evidence.ts';
import { type ContractRegisters, statusOfLink } from '../domain/evidence-status.ts';

// The only SQL about memberships: what derivation reads and writes, and what people may see.

export type Participation = ContractRegisters &
  Pick<
    LinkEvidence,
    'linkId' | 'removedEventAt' | 'seenAt' | 'externalProjectId' | 'externalProjectName' | 'provisioningMode' | 'jobId'
  > &
  Omit<PairEvidence, 'linkId'> & {
    trainerId: string;
    /** When the trainer was last seen on the contract. */
    trainerSeenAt: string | null;
    linkAbsences: Absences;
    participationAbsences: Absences;
  };

export interface ProjectKey {
  install: string;
  externalProjectId: string;
}

/** Joins trainers on contracts with every link of the contract. */
export function linkedParticipations(tx: Transaction) {
  return tx
    .selectFrom('participation')
    .innerJoin('contract', onSame('contract', 'participation', ['install', 'contractId']))
    .innerJoin('contractLink', onSame('contractLink', 'participation', ['install', 'contractId']))
    .innerJoin('link', onSame('link', 'contractLink', ['install', 'linkId']));
}

/** Everything that could be a reason for these trainers, with the registers that decide it. */
export async function participationsOf(tx: Transaction, trainerIds: string[]): Promise<Participation[]> {
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
      'participation.seenAt as trainerSeenAt',
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
}

export async function membershipsOf(ctx: Storage, tx: Transaction, trainerIds: string[]): Promise<Row<'membership'>[]> {
  const rows = tx.selectFrom('membership').selectAll().where('trainerId', 'in', trainerIds);
  // Lock the rows: a claim must not change them between this read and the write after it.
  return await lockRows(ctx.database, rows).execute();
}

export async function reasonsOf(tx: Transaction, membershipIds: number[]): Promise<Row<'reason'>[]> {
  const reasons = tx.selectFrom('reason').selectAll();
  return await reasons.where('membershipId', 'in', membershipIds).execute();
}

export async function grantsOf(tx: Transaction, installs: string[]): Promise<GrantEvidence[]> {
  const grants = tx.selectFrom('installGrant').selectAll();
  return await grants.where('install', 'in', installs).execute();
}

/** The live links of these projects. */
export async function successorLinksOf(tx: Transaction, projects: ProjectKey[]): Promise<LinkEvidence[]> {
  if (projects.length === 0) return [];
  const links = await tx
    .selectFrom('link')
    .selectAll()
    .where(keyIn(['install', 'externalProjectId'], projects))
    .execute();
  return links.filter((link) => statusOfLink(link) === 'live');
}

/** @returns the new id */
export async function insertMembership(tx: Transaction, row: Insertable<Tables['membership']>): Promise<number> {
  const { id } = await tx.insertInto('membership').values(row).returning('id').executeTakeFirstOrThrow();
  return id;
}

export async function recordReasons(tx: Transaction, rows: Row<'reason'>[]): Promise<void> {
  if (rows.length === 0) return;
  await tx
    .insertInto('reason')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['membershipId', 'install', 'contractId', 'linkId'])
        .doUpdateSet((eb) => ({ isNamed: eb.ref('excluded.isNamed') })),
    )
    .execute();
}

export async function updateMembership(tx: Transaction, id: number, values: Partial<Row<'membership'>>): Promise<void> {
  await tx.updateTable('membership').set(values).where('id', '=', id).execute();
}

/** Makes memberships due whose last call failed or was refused. */
export async function retryFailedOfInstalls(tx: Transaction, installs: readonly string[], now: string): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ nextAttemptAt: now })
    .where('install', 'in', installs)
    .where('nextAttemptAt', '>', now)
    .where((eb) => eb.or([eb('state', '=', 'failed'), eb('failure', 'is not', null)]))
    .execute();
}

/**
 * Leaves out removals that the brake has not cleared, and memberships that wait for an address, a decision or the
 * configuration.
 */
export function isWorkable(eb: ExpressionBuilder<Tables, 'membership'>): Expression<SqlBool> {
  return eb.and([
    eb.or([eb('wanted', '=', true), eb('clearedGeneration', '=', eb.ref('membership.generation'))]),
    eb('state', 'not in', ['waiting_email', 'held', 'orphaned', 'released']),
  ]);
}

/**
 * Whether the membership is older than a silence after which the install has not been read yet (docs/rules.md,
 * Removing).
 */
export function isHeldBack(eb: ExpressionBuilder<Tables, 'membership'>): Expression<SqlBool> {
  return eb.exists(
    eb
      .selectFrom('installState')
      .select('installState.install')
      .whereRef('installState.install', '=', 'membership.install')
      .whereRef('installState.heldSince', '>', 'membership.updatedAt'),
  );
}

/** Clears messages, which may quote a name. */
export async function clearFailures(tx: Transaction, membershipIds: readonly number[]): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ failure: null })
    .where('failure', 'is not', null)
    .where('id', 'in', membershipIds)
    .execute();
}

/** Clears messages, and ids in the tool, which may be addresses. @returns how many memberships had any */
export async function clearToolIds(tx: Transaction, membershipIds: readonly number[]): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('membership')
    .set({ memberId: null, doubtedId: null, failure: null })
    .where('id', 'in', membershipIds)
    .where((eb) =>
      eb.or([eb('memberId', 'is not', null), eb('doubtedId', 'is not', null), eb('failure', 'is not', null)]),
    )
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
