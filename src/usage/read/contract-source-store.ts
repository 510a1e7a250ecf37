import type { Database } from '../../db/database.ts';
import { jsonTexts } from '../../db/json-list.ts';
import { onSame } from '../../db/on-same.ts';
import type { ContractEvidence, LinkEvidence } from '../../domain/evidence.ts';
import { heldStates } from '../../domain/membership.ts';

/** The SQL of what usage has to know of contracts, links and who is on them; changes nothing. */
export interface ContractSourceStore {
  /** Of all installs, whatever became of them. */
  links(): Promise<LinkEvidence[]>;
  /** `[tool, group]` of every group that somebody is, or may be, in. */
  inhabitedGroups(): Promise<{ tool: string; groupId: string }[]>;
  /** Who ever was on a contract, with the links it ever had: some trainers, or everybody. */
  engagements(of?: { trainerIds?: readonly string[] }): Promise<Engagement[]>;
  /** Everybody who ever was on some contracts of an install. */
  participants(install: string, contractIds: readonly string[]): Promise<Participant[]>;
}

export interface Participant {
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
