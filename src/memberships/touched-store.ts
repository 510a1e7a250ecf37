import { type InsertQueryBuilder, type InsertResult, type SelectQueryBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { inParts, keyIn } from '../db/key-in.ts';
import { onSame } from '../db/on-same.ts';
import type { Tables } from '../db/schema.ts';
import type { Evidence, LinkEvidence } from '../domain/evidence.ts';
import type { PendingDerivation } from '../memberships/derivation-store.ts';

/**
 * Marks all trainers that these rows touch as waiting to be derived. A participation or a person touches its trainer. A
 * contract or a new pair touches the trainers on the contract. A link touches the trainers of every link to its
 * project, because it may take over from those. A grant touches all trainers of its install.
 */
export async function postponeTouchedTrainers(tx: Transaction, changed: Evidence, evidenceAt: string): Promise<void> {
  const { contracts, links, grants, pairs, participations, people } = changed;
  const trainers = [...participations, ...people].map(({ install, trainerId }) => ({ install, trainerId, evidenceAt }));
  const each = new Map(trainers.map((one) => [JSON.stringify(one), one]));
  for (const part of inParts([...each.values()])) {
    await keepWaiting(tx.insertInto('derivation').values(part)).execute();
  }
  const allTrainers = tx.selectFrom('participation').select(['install', 'trainerId']).distinct();
  for (const part of inParts([...contracts, ...pairs])) {
    const there = allTrainers.where(keyIn(['install', 'contractId'], part));
    await postpone(tx, there, evidenceAt);
  }
  // Ends that these rows cause act slowly, so they can wait until the install was read.
  for (const part of inParts(links)) await postpone(tx, trainersOnProjects(tx, part), '');
  const installs = [...new Set(grants.map(({ install }) => install))];
  if (installs.length > 0) await postpone(tx, allTrainers.where('install', 'in', installs), '');
}

/** The trainers of these links, and of every other link to the same project. */
function trainersOnProjects(tx: Transaction, links: LinkEvidence[]) {
  const projects = links.filter((link) => link.externalProjectId !== null);
  const byProject = keyIn(['install', 'externalProjectId'], projects, 'link');
  const byId = keyIn(['install', 'linkId'], links, 'link');
  return tx
    .selectFrom('link')
    .innerJoin('contractLink', onSame('contractLink', 'link', ['install', 'linkId']))
    .innerJoin('participation', onSame('participation', 'contractLink', ['install', 'contractId']))
    .select(['participation.install', 'participation.trainerId'])
    .distinct()
    .where(projects.length === 0 ? byId : sql<boolean>`(${byId} or ${byProject})`);
}

async function postpone(
  tx: Transaction,
  trainers: SelectQueryBuilder<Tables, 'participation', PendingDerivation>,
  evidenceAt: string,
): Promise<void> {
  const rows = trainers.select(sql.val(evidenceAt).as('evidenceAt'));
  const columns = ['install', 'trainerId', 'evidenceAt'] as const;
  await keepWaiting(tx.insertInto('derivation').columns(columns).expression(rows)).execute();
}

/** A trainer who already waits keeps the same position. */
function keepWaiting(insert: InsertQueryBuilder<Tables, 'derivation', InsertResult>) {
  return insert.onConflict((conflict) =>
    conflict
      .columns(['trainerId', 'install'])
      .doUpdateSet((eb) => ({ evidenceAt: eb.ref('excluded.evidenceAt') }))
      .whereRef('derivation.evidenceAt', '<', 'excluded.evidenceAt'),
  );
}
