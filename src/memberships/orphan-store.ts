import type { Transaction } from '../db/database.ts';
import { onSame } from '../db/on-same.ts';
import type { LinkEvidence } from '../domain/evidence.ts';
import { heldStates } from '../domain/membership.ts';
import type { Storage } from '../keys/storage.ts';

// The only SQL about memberships that the configuration may no longer route to.

export type LinkedGroup = Pick<LinkEvidence, 'install' | 'linkId' | 'externalProjectId' | 'externalProjectName'> & {
  tool: string;
  groupId: string;
};

/** Every group in a tool where a trainer is, or is to be, by the links that led there. */
export function listLinkedGroups(ctx: Storage): Promise<LinkedGroup[]> {
  return withReasons(ctx.database.kysely)
    .innerJoin('link', onSame('link', 'reason', ['install', 'linkId']))
    .select(['tool', 'groupId', 'link.install', 'link.linkId', 'externalProjectId', 'externalProjectName'])
    .distinct()
    .execute();
}

/** The trainers in these groups by these links. */
export async function trainersInGroups(ctx: Storage, groups: LinkedGroup[]): Promise<string[]> {
  const trainers = new Set<string>();
  for (const { tool, groupId, install, linkId } of groups) {
    const found = await withReasons(ctx.database.kysely)
      .select('trainerId')
      .where('tool', '=', tool)
      .where('groupId', '=', groupId)
      .where('reason.install', '=', install)
      .where('reason.linkId', '=', linkId)
      .execute();
    for (const { trainerId } of found) trainers.add(trainerId);
  }
  return [...trainers];
}

/** Marks all orphaned trainers as waiting to be derived, because the configuration may route there again. */
export async function postponeOrphans(tx: Transaction): Promise<void> {
  await tx
    .insertInto('derivation')
    .columns(['install', 'trainerId'])
    .expression(tx.selectFrom('membership').select(['install', 'trainerId']).distinct().where('state', '=', 'orphaned'))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Memberships by which a trainer is, may be or is to be in a tool, joined with their recorded reasons. */
function withReasons(db: Transaction) {
  return db
    .selectFrom('membership')
    .innerJoin('reason', 'reason.membershipId', 'membership.id')
    .where('state', 'in', [...heldStates, 'waiting_email'])
    .where('state', '<>', 'orphaned');
}
