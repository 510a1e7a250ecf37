import type { Database } from '../../db/database.ts';
import { jsonTexts } from '../../db/json-list.ts';
import { onSame } from '../../db/on-same.ts';
import type { ContractEvidence, LinkEvidence } from '../../domain/evidence.ts';
import { heldStates } from '../../domain/membership.ts';

/** The SQL that usage reads contracts, links and participations with. It changes nothing. */
export interface ContractSourceStore {
  /** Links of all installs, also those that were removed. */
  links(): Promise<LinkEvidence[]>;
  /** Every group that a trainer is in, or may be in. */
  inhabitedGroups(): Promise<{ tool: string; groupId: string }[]>;
  /** Every contract and link of these trainers, or of all trainers, past or present. */
  engagements(of?: { trainerIds?: readonly string[] }): Promise<Engagement[]>;
  /** Every trainer who was ever on these contracts of an install. */
  participants(install: string, contractIds: readonly string[]): Promise<ContractParticipant[]>;
}

export interface ContractParticipant {
  contractId: string;
  trainerId: string;
}

export interface Engagement extends ContractEvidence {
  trainerId: string;
  linkId: string;
}

export function createContractSourceStore(database: Database): ContractSourceStore {
  const { kysely } = database;
  return {
    links: () => kysely.selectFrom('link').selectAll().orderBy('install').orderBy('linkId').execute(),

    inhabitedGroups: () =>
      kysely.selectFrom('membership').select(['tool', 'groupId']).distinct().where('state', 'in', heldStates).execute(),

    participants: (install, contractIds) =>
      kysely
        .selectFrom('participation')
        .select(['contractId', 'trainerId'])
        .where('install', '=', install)
        .where('contractId', 'in', jsonTexts(database, contractIds))
        .orderBy('contractId')
        .orderBy('trainerId')
        .execute(),

    async engagements({ trainerIds } = {}) {
      const all = kysely
        .selectFrom('contract')
        .innerJoin('contractLink', onSame('contractLink', 'contract', ['install', 'contractId']))
        .innerJoin('participation', onSame('participation', 'contract', ['install', 'contractId']))
        .selectAll('contract')
        .select(['contractLink.linkId', 'participation.trainerId']);
      if (trainerIds === undefined) return await all.execute();
      const wanted = jsonTexts(database, trainerIds);
      return await all.where('participation.trainerId', 'in', wanted).execute();
    },
  };
}
