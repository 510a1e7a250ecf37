import type { Context } from '../../context.ts';
import { listEngagements, listTrainers } from '../read/contract-source-store.ts';
import { scopeKey, scopeOfLink } from '../read/find-scopes.ts';
import { type FallenTotal, listFallenTotals, listScopes } from '../read/scope-store.ts';

/** Why the counts of a contract may be less than what was done. */
export interface ContractGaps {
  /** What a tool cannot report at present. */
  gaps: { tool: string; scope: string; since: string | null; says: string }[];
  /** Running totals that are below what was counted. */
  fallen: FallenTotal[];
  /** Scopes that cannot be read. */
  failing: { tool: string; scope: string; readAt: string | null; failure: string }[];
}

/** Shows the gaps of the scopes of one contract. Changes nothing. */
export async function showGaps(ctx: Context, install: string, contractId: string): Promise<ContractGaps> {
  const trainerIds = await listTrainers(ctx, { install, contractId });
  const engagements = await listEngagements(ctx.database, ctx.database.kysely, trainerIds);
  const keys = new Set(
    engagements.flatMap((one) => {
      const at = one.install === install && one.contractId === contractId ? scopeOfLink(ctx, one) : undefined;
      return at === undefined ? [] : [scopeKey(at)];
    }),
  );
  const rows = (await listScopes(ctx)).filter((row) => keys.has(scopeKey(row)));
  return {
    gaps: rows.flatMap(({ tool, scope, gap: says, gapSince: since }) =>
      says === null ? [] : [{ tool, scope, since, says }],
    ),
    fallen: (await listFallenTotals(ctx, trainerIds)).filter((one) => keys.has(scopeKey(one))),
    failing: rows.flatMap(({ tool, scope, readBeganAt: readAt, failure }) =>
      failure === null ? [] : [{ tool, scope, readAt, failure }],
    ),
  };
}
