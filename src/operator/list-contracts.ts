import type { BudgetState } from '../domain/budget.ts';
import { type ContractStatus, shownStatusOf } from '../domain/evidence-status.ts';
import {
  type ContractPosition,
  type FundedContract,
  listParticipants,
  type Participant,
  pageContracts,
  pageSize,
} from '../evidence/contract-store.ts';
import type { Storage } from '../keys/storage.ts';
import { suspectsAmong } from '../reconcile/runs/suspect-store.ts';

export interface ContractListFilter {
  install?: string | undefined;
  /** Part of a title, or a whole id. */
  search?: string | undefined;
  contractId?: string | undefined;
  status?: ContractStatus | undefined;
  /** Only contracts that the last reading found in no list. */
  suspects?: boolean | undefined;
  /** Only contracts whose budget was last read to be in this state. */
  budget?: BudgetState | undefined;
  /** Only what comes after this contract: the page after one that ended with it. */
  after?: ContractPosition | undefined;
  limit: number;
}

export interface ListedContract extends ContractPosition {
  status: ContractStatus;
  title: string | null;
  /** The latest that any source said of it. */
  heardAt: string | null;
  startDate: string | null;
  endDate: string | null;
  trainers: Participant[];
  /** Whether an operator can treat it as active again. What the marketplace lists as ended stays so. */
  canReopen: boolean;
  /** The state at the last reading; null before the first. */
  budgetState: BudgetState | null;
  /** The part of the funded volume that is used. */
  consumedFraction: number | null;
  /** Since when no list has it; null if the last reading found it. */
  suspectSince: string | null;
}

/** Those with the least of their budget left come first. */
export async function listContracts(ctx: Storage, filter: ContractListFilter): Promise<ListedContract[]> {
  const { install, search, contractId, status, budget, suspects = false, after, limit } = filter;
  const wanted = { install, search, contractId, budget, mayBe: status, isUnlisted: suspects };
  const isAskedFor = (one: ListedContract) =>
    (status === undefined || one.status === status) && (!suspects || one.suspectSince !== null);
  const listed: ListedContract[] = [];
  // The status follows from the registers and is stored in no column.
  for (let rows = await pageContracts(ctx, wanted, after); ; rows = await pageContracts(ctx, wanted, rows.at(-1))) {
    const since = new Map((await suspectsAmong(ctx, rows)).map((one) => [keyOf(one), one.since]));
    const trainers = Map.groupBy(await listParticipants(ctx, rows), keyOf);
    const found = rows.map((row) => toListed(row, since.get(keyOf(row)) ?? null, trainers.get(keyOf(row)) ?? []));
    listed.push(...found.filter(isAskedFor));
    if (rows.length < pageSize || listed.length >= limit) return listed.slice(0, limit);
  }
}

function keyOf({ install, contractId }: { install: string; contractId: string }): string {
  return JSON.stringify([install, contractId]);
}

function toListed(row: FundedContract, suspectSince: string | null, trainers: Participant[]): ListedContract {
  const status = shownStatusOf(row);
  const { install, contractId, title, budgetState, consumedFraction, remainingFraction } = row;
  const heard = [row.startedEventAt, row.endedEventAt, row.activeReadAt, row.endedReadAt];
  return {
    install,
    contractId,
    title,
    suspectSince,
    budgetState,
    consumedFraction,
    remainingFraction,
    status,
    heardAt: heard.reduce((a, b) => ((b ?? '') > (a ?? '') ? b : a), null),
    startDate: row.startDate,
    endDate: row.endDate,
    trainers,
    canReopen: row.endedReadAt === null && (status === 'ended' || status === 'disputed'),
  };
}
