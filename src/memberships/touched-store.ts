import { type InsertQueryBuilder, type InsertResult, type SelectQueryBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { inParts, keyIn } from '../db/key-in.ts';
import { onSame } from '../db/on-same.ts';
import type { Tables } from '../db/tables.ts';
import type { Evidence, LinkEvidence } from '../domain/evidence.ts';
import type { Waiting } from './derivation-store.ts';

/**
 * Leaves everybody to be derived whom these rows touch: of a participation or a person that trainer
 * alone; of a contract or a new pair those on the contract; of a link those of every link to its
 * project, for it may take over from them; of a grant all of its install.
 */
export async function postponeTouched(tx: Transaction, changed: Evidence, evidenceAt: string): Promise<void> {
  const { contracts, links, grants, pairs, participations, people } = changed;
  const trainers = [...participations, ...people].map(({ install, trainerId }) => ({ install, trainerId, evidenceAt }));
  const each = new Map(trainers.map((one) => [JSON.stringify(one), one]));
  for (const part of inParts([...each.values()])) {
    await again(tx.insertInto('derivation').values(part)).execute();
  }
  const everybody = tx.selectFrom('participation').select(['install', 'trainerId']).distinct();
  for (const part of inParts([...contracts, ...pairs])) {
    const there = everybody.where(keyIn(['install', 'contractId'], part));
    await postpone(tx, there, evidenceAt);
  }
  // What ends by these ends slowly: it can wait until an install that is to be read has been.
  for (const part of inParts(links)) await postpone(tx, trainersOnProjects(tx, part), '');
  const installs = [...new Set(grants.map(({ install }) => install))];
  if (installs.length > 0) await postpone(tx, everybody.where('install', 'in', installs), '');
}

/** Those of the links themselves, and of every other link to the same project. */
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
  trainers: SelectQueryBuilder<Tables, 'participation', Waiting>,
  evidenceAt: string,
): Promise<void> {
  const rows = trainers.select(sql.val(evidenceAt).as('evidenceAt'));
  const columns = ['install', 'trainerId', 'evidenceAt'] as const;
  await again(tx.insertInto('derivation').columns(columns).expression(rows)).execute();
}

/** Whoever waits already keeps their place. */
function again(insert: InsertQueryBuilder<Tables, 'derivation', InsertResult>) {
  return insert.onConflict((conflict) =>
    conflict
      .columns(['trainerId', 'install'])
      .doUpdateSet((eb) => ({ evidenceAt: eb.ref('excluded.evidenceAt') }))
      .whereRef('derivation.evidenceAt', '<', 'excluded.evidenceAt'),
  );
}
