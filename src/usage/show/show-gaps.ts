import type { ContractSourceStore } from '../read/contract-source-store.ts';
import { type ScopeOf, scopeKey } from '../read/find-scopes.ts';
import type { ScopeStore } from '../read/scope-store.ts';
import type { FallenTotal, WorkStore } from '../read/work-store.ts';

/** Why the counts of a contract may be less than what was done. */
export interface ContractGaps {
  /** What a tool cannot report at present. */
  gaps: { tool: string; scope: string; since: string | null; says: string }[];
  /** Running totals that are below what was counted. */
  fallen: FallenTotal[];
  /** Scopes that cannot be read. */
  failing: { tool: string; scope: string; readAt: string | null; failure: string }[];
}

export interface GapDeps {
  contractSources: ContractSourceStore;
  scopeOf: ScopeOf;
  scopes: Pick<ScopeStore, 'list'>;
  work: Pick<WorkStore, 'listFallen'>;
}

/** Shows the gaps of the scopes of one contract. Changes nothing. */
export async function showGaps(
  { contractSources, scopeOf, scopes, work }: GapDeps,
  install: string,
  contractId: string,
): Promise<ContractGaps> {
  const people = await contractSources.participants(install, [contractId]);
  const trainerIds = [...new Set(people.map(({ trainerId }) => trainerId))];
  const ours = (await contractSources.engagements({ trainerIds })).filter(
    (one) => one.install === install && one.contractId === contractId,
  );
  const linkIds = new Set(ours.map(({ linkId }) => linkId));
  const links = (await contractSources.links()).filter((link) => link.install === install && linkIds.has(link.linkId));
  const keys = new Set(
    links.flatMap((link) => {
      const at = scopeOf(link);
      return at === undefined ? [] : [scopeKey(at)];
    }),
  );
  const rows = (await scopes.list()).filter((row) => keys.has(scopeKey(row)));
  return {
    gaps: rows.flatMap(({ tool, scope, gap: says, gapSince: since }) =>
      says === null ? [] : [{ tool, scope, since, says }],
    ),
    fallen: (await work.listFallen(trainerIds)).filter((one) => keys.has(scopeKey(one))),
    failing: rows.flatMap(({ tool, scope, readBeganAt: readAt, failure }) =>
      failure === null ? [] : [{ tool, scope, readAt, failure }],
    ),
  };
}
