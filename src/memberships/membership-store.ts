import type { Expression, ExpressionBuilder, Insertable, SqlBool } from 'kysely';
import type { Storage } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { lockRows } from '../db/lock.ts';
import { prepared } from '../db/prepared.ts';
import { inParts, keyIn, onSame, toExcluded } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import type { GrantEvidence, LinkEvidence } from '../domain/evidence.ts';
import { statusOfLink } from '../domain/evidence-status.ts';

// The SQL of deriving memberships: evidence, memberships, and the projects that a member has left.

export type Participation = Awaited<ReturnType<typeof participationsOf>>[number];

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

/** All possible reasons for these trainers, with the registers that decide whether they stand. */
export async function participationsOf(tx: Transaction, trainerIds: string[]) {
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
  // Locked, because a claim must not change them between this read and the write after it.
  return await lockRows(ctx.database, rows).execute();
}

export async function reasonsOf(tx: Transaction, membershipIds: number[]): Promise<Row<'reason'>[]> {
  return await tx.selectFrom('reason').selectAll().where('membershipId', 'in', membershipIds).execute();
}

export async function grantsOf(tx: Transaction, installs: string[]): Promise<GrantEvidence[]> {
  return await tx.selectFrom('installGrant').selectAll().where('install', 'in', installs).execute();
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
  const [inserted] = (await insertOne(tx, row)).rows;
  if (inserted === undefined) throw new Error('The membership was not inserted');
  return inserted.id;
}

const insertOne = prepared((db, row: Insertable<Tables['membership']>) =>
  db.insertInto('membership').values(row).returning('id'),
);

export async function recordReasons(tx: Transaction, rows: Row<'reason'>[]): Promise<void> {
  for (const part of inParts(rows)) {
    await tx
      .insertInto('reason')
      .values(part)
      .onConflict((conflict) =>
        conflict.columns(['membershipId', 'install', 'contractId', 'linkId']).doUpdateSet(toExcluded(['isNamed'])),
      )
      .execute();
  }
}

export async function updateMembership(tx: Transaction, id: number, values: Partial<Row<'membership'>>): Promise<void> {
  await tx.updateTable('membership').set(values).where('id', '=', id).execute();
}

/** Makes the memberships of these installs due whose last call failed or was refused. */
export async function retryFailedOfInstalls(tx: Transaction, installs: readonly string[], now: string): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ nextAttemptAt: now })
    .where('install', 'in', installs)
    .where('nextAttemptAt', '>', now)
    .where((eb) => eb.or([eb('state', '=', 'failed'), eb('failure', 'is not', null)]))
    .execute();
}

export type MembershipCondition = (eb: ExpressionBuilder<Tables, 'membership'>) => Expression<SqlBool>;

/**
 * False for removals that the brake has not cleared, and while an address, a decision or the configuration is missing.
 */
export function isWorkable(eb: ExpressionBuilder<Tables, 'membership'>): Expression<SqlBool> {
  return eb.and([
    eb.or([eb('wanted', '=', true), eb('clearedGeneration', '=', eb.ref('membership.generation'))]),
    eb('state', 'not in', ['waiting_email', 'held', 'orphaned', 'released']),
  ]);
}

/** Whether the membership must wait until its install is read, because it is older than a silence (docs/rules.md). */
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

/** Projects that have ended for a member who stays in the group for another project. */
export interface EndedProjects {
  membershipId: number;
  projects: string[];
}

/**
 * Records the ended projects of each membership, and deletes the record of a project that has a reason again.
 *
 * @param dueAt when the assignments in newly ended projects must be ended
 * @returns whether there are newly ended ones
 */
export async function recordEndedProjects(
  tx: Transaction,
  all: readonly EndedProjects[],
  dueAt: string,
): Promise<boolean> {
  let isNews = false;
  for (const { membershipId, projects } of all) {
    const others = tx.deleteFrom('leftProject').where('membershipId', '=', membershipId);
    await others.where('project', 'not in', projects).execute();
    if (projects.length === 0) continue;
    const insert = tx.insertInto('leftProject').values(projects.map((project) => ({ membershipId, project, dueAt })));
    const added = await insert
      .onConflict((conflict) => conflict.doNothing())
      .returning('project')
      .execute();
    if (added.length === 0) continue;
    isNews = true;
    await wakeAt(tx, membershipId, dueAt);
  }
  return isNews;
}

/** Does not postpone an earlier attempt. */
async function wakeAt(tx: Transaction, membershipId: number, dueAt: string): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ nextAttemptAt: dueAt })
    .where('id', '=', membershipId)
    .where((eb) => eb.or([eb('nextAttemptAt', 'is', null), eb('nextAttemptAt', '>', dueAt)]))
    .where(isWorkable)
    .execute();
}

/** The projects in which the member's assignments must be ended now. */
export async function dueEndedProjects(db: Transaction, membershipId: number, now: string): Promise<string[]> {
  const due = await db
    .selectFrom('leftProject')
    .select('project')
    .where('membershipId', '=', membershipId)
    .where('endedAt', 'is', null)
    .where('dueAt', '<=', now)
    .orderBy('project')
    .execute();
  return due.map(({ project }) => project);
}

/** When assignments of the membership that is being written must next be ended; null if there are none. */
export function nextProjectEndAt(eb: ExpressionBuilder<Tables, 'membership'>) {
  return eb
    .selectFrom('leftProject')
    .select((left) => left.fn.min('leftProject.dueAt').as('dueAt'))
    .whereRef('leftProject.membershipId', '=', 'membership.id')
    .where('leftProject.endedAt', 'is', null);
}

export async function recordAssignmentsEnded(
  tx: Transaction,
  membershipId: number,
  project: string,
  endedAt: string,
): Promise<void> {
  await tx
    .updateTable('leftProject')
    .set({ endedAt })
    .where((eb) => eb.and({ membershipId, project }))
    .execute();
}
