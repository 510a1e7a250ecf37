import type { Database } from '../../db/database.ts';
import type { ContractEvidence, LinkEvidence } from '../../domain/evidence.ts';
import { heldStates } from '../../domain/membership.ts';

/** The SQL of what usage has to know of contracts, links and who is on them; changes nothing. */
export interface ContractSourceStore {
  /** Of all installs, whatever became of them. */
  links(): Promise<LinkEvidence[]>;
  /** `[tool, group]` of every group that somebody is, or may be, in. */
  inhabitedGroups(): Promise<{ tool: string; groupId: string }[]>;
  /** Everybody who ever was on a contract, with the links it ever had. */
  engagements(): Promise<Engagement[]>;
}

export interface Engagement extends ContractEvidence {
  trainerId: string;
  linkId: string;
}

export function createContractSourceStore({ kysely }: Database): ContractSourceStore {
  return {
    links: () =>
      kysely.selectFrom('link').selectAll().orderBy('install').orderBy('linkId').execute(),

    inhabitedGroups: () =>
      kysely
        .selectFrom('membership')
        .select(['tool', 'groupId'])
        .distinct()
        .where('state', 'in', heldStates)
        .execute(),

    engagements: () =>
      kysely
        .selectFrom('contract')
        .innerJoin('contractLink', (join) =>
          join
            .onRef('contractLink.install', '=', 'contract.install')
            .onRef('contractLink.contractId', '=', 'contract.contractId'),
        )
        .innerJoin('participation', (join) =>
          join
            .onRef('participation.install', '=', 'contract.install')
            .onRef('participation.contractId', '=', 'contract.contractId'),
        )
        .selectAll('contract')
        .select(['contractLink.linkId', 'participation.trainerId'])
        .execute(),
  };
}
