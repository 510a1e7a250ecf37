import type { Database, Transaction } from '../db/database.ts';
import { onSame } from '../db/on-same.ts';
import type { LinkEvidence } from '../domain/evidence.ts';
import { heldStates } from '../domain/membership.ts';

/** The only SQL about memberships that the configuration may no longer route to. */
export interface OrphanStore {
  /** Every group in a tool where a trainer is, or is to be, by the links that led there. */
  linkedGroups(): Promise<LinkedGroup[]>;
  /** The trainers in these groups by these links. */
  trainersIn(groups: LinkedGroup[]): Promise<string[]>;
  /** Marks all orphaned trainers as waiting to be derived, because the configuration may route there again. */
  postponeOrphans(tx: Transaction): Promise<void>;
}

export type LinkedGroup = Pick<LinkEvidence, 'install' | 'linkId' | 'externalProjectId' | 'externalProjectName'> & {
  tool: string;
  groupId: string;
};

export function createOrphanStore({ kysely }: Database): OrphanStore {
  return {
    linkedGroups: () =>
      withReasons(kysely)
        .innerJoin('link', onSame('link', 'reason', ['install', 'linkId']))
        .select(['tool', 'groupId', 'link.install', 'link.linkId', 'externalProjectId', 'externalProjectName'])
        .distinct()
        .execute(),

    async trainersIn(groups) {
      const trainers = new Set<string>();
      for (const { tool, groupId, install, linkId } of groups) {
        const found = await withReasons(kysely)
          .select('trainerId')
          .where('tool', '=', tool)
          .where('groupId', '=', groupId)
          .where('reason.install', '=', install)
          .where('reason.linkId', '=', linkId)
          .execute();
        for (const { trainerId } of found) trainers.add(trainerId);
      }
      return [...trainers];
    },

    async postponeOrphans(tx) {
      await tx
        .insertInto('derivation')
        .columns(['install', 'trainerId'])
        .expression(
          tx.selectFrom('membership').select(['install', 'trainerId']).distinct().where('state', '=', 'orphaned'),
        )
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
  };
}

/** Memberships by which a trainer is, may be or is to be in a tool, joined with their recorded reasons. */
function withReasons(db: Transaction) {
  return db
    .selectFrom('membership')
    .innerJoin('reason', 'reason.membershipId', 'membership.id')
    .where('state', 'in', [...heldStates, 'waiting_email'])
    .where('state', '<>', 'orphaned');
}
