import type { ExpressionBuilder } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { Tables } from '../db/schema.ts';
import { isWorkable } from './membership-store.ts';

/** The SQL of projects that have ended for a member who stays in the group for another project. */

export interface EndedProjects {
  membershipId: number;
  projects: string[];
}

/**
 * Records the ended projects of each membership, and deletes the record of a project that has a reason again.
 *
 * @param dueAt when the assignments in newly ended projects must be ended
 * @returns whether there are new ones
 */
export async function recordEndedProjects(
  tx: Transaction,
  all: readonly EndedProjects[],
  dueAt: string,
): Promise<boolean> {
  let isNews = false;
  for (const { membershipId, projects } of all) {
    const known = await tx
      .selectFrom('leftProject')
      .select('project')
      .where('membershipId', '=', membershipId)
      .execute();
    const before = new Set(known.map(({ project }) => project));
    const added = projects.filter((project) => !before.has(project));
    for (const project of before) {
      if (!projects.includes(project)) await forget(tx, membershipId, project);
    }
    if (added.length === 0) continue;
    isNews = true;
    await tx
      .insertInto('leftProject')
      .values(added.map((project) => ({ membershipId, project, dueAt, endedAt: null })))
      .execute();
    await wakeAt(tx, membershipId, dueAt);
  }
  return isNews;
}

async function forget(tx: Transaction, membershipId: number, project: string): Promise<void> {
  await tx
    .deleteFrom('leftProject')
    .where((eb) => eb.and({ membershipId, project }))
    .execute();
}

/** Does not postpone an attempt that is due earlier. */
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

/** When the next of them is due for the membership that is being written; null if there is none. */
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
