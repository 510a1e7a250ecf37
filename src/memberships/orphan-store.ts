import type { Database, Transaction } from '../db/database.ts';
import { onSame } from '../db/on-same.ts';
import type { LinkEvidence } from '../domain/evidence.ts';
import { heldStates } from '../domain/membership.ts';

/** The only SQL about memberships that the configuration may no longer lead to. */
export interface OrphanStore {
  /** Every place in a tool that somebody of ours is in, by the links that led there. */
  livePlaces(): Promise<LivePlace[]>;
  /** Who is in these places by these links. */
  trainersAt(places: LivePlace[]): Promise<string[]>;
  /** Has everybody derived again who was orphaned: the configuration may lead there again. */
  postponeOrphans(tx: Transaction): Promise<void>;
}

export type LivePlace = Pick<LinkEvidence, 'install' | 'linkId' | 'externalProjectId' | 'externalProjectName'> & {
  tool: string;
  groupId: string;
};

export function createOrphanStore({ kysely }: Database): OrphanStore {
  return {
    livePlaces: () =>
      withReasons(kysely)
        .innerJoin('link', onSame('link', 'reason', ['install', 'linkId']))
        .select(['tool', 'groupId', 'link.install', 'link.linkId', 'externalProjectId', 'externalProjectName'])
        .distinct()
        .execute(),

    async trainersAt(places) {
      const trainers = new Set<string>();
      for (const { tool, groupId, install, linkId } of places) {
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

/** Memberships by which somebody may be in a tool, with what was recorded as a reason for them. */
function withReasons(db: Transaction) {
  return db
    .selectFrom('membership')
    .innerJoin('reason', 'reason.membershipId', 'membership.id')
    .where('state', 'in', heldStates)
    .where('state', '<>', 'orphaned')
    .where((eb) => eb.or([eb('isOurs', '=', 1), eb('memberId', 'is not', null)]));
}
