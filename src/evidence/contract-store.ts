import { type Expression, type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Storage } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { given, onSame } from '../db/query.ts';
import type { Tables } from '../db/schema.ts';
import type { BudgetState } from '../domain/budget.ts';
import type { ContractEvidence, ContractKey, LinkEvidence } from '../domain/evidence.ts';
import { type ContractStatus, shownStatusOf } from '../domain/evidence-status.ts';

// The SQL of reading contracts and links.

interface PageFilter {
  install?: string | undefined;
  /** Part of a title, or a whole id. */
  search?: string | undefined;
  contractId?: string | undefined;
  /** Only contracts whose budget was last read in this state. */
  budget?: BudgetState | undefined;
  /** Contracts of this status, and some others. `shownStatusOf` decides. */
  mayBe?: ContractStatus | undefined;
  /** Only contracts that the last reading of their install did not list. */
  isUnlisted?: boolean;
}

/** The position of a contract in the list. */
export type ContractPosition = ContractKey & {
  /** What is left of its budget; null if no budget is watched, as after the end of the contract. */
  remainingFraction: number | null;
};

/** A contract with its budget, as last read. */
export type FundedContract = ContractEvidence &
  ContractPosition & {
    budgetState: BudgetState | null;
    consumedFraction: number | null;
  };

export const pageSize = 500;

type Condition = (eb: ExpressionBuilder<Tables, 'contract'>) => Expression<SqlBool>;

/** The database has the registers of a status, and not the status itself (`shownStatusOf`). */
const registersOf: Record<ContractStatus, Condition> = {
  unknown: (eb) => eb.and([eb('startedEventAt', 'is', null), eb('activeReadAt', 'is', null)]),
  active: (eb) => eb('endedReadAt', 'is', null),
  disputed: (eb) =>
    eb.and([
      eb('endedReadAt', 'is', null),
      eb.or([eb('activeReadAt', '>', eb.ref('endedEventAt')), eb('activeReadAt', '>', eb.ref('endedByOperatorAt'))]),
    ]),
  ended: (eb) =>
    eb.or([
      eb('endedReadAt', 'is not', null),
      eb('endedEventAt', 'is not', null),
      eb('endedByOperatorAt', 'is not', null),
    ]),
};

const isInNoList: Condition = (eb) =>
  eb.and([
    eb('endedReadAt', 'is', null),
    eb.exists(
      eb
        .selectFrom('installState')
        .select('installState.install')
        .whereRef('installState.install', '=', 'contract.install')
        .where(isUnconfirmed),
    ),
  ]);

/** The expressions of the index. Only the budgets of active contracts are watched. */
const remaining = sql<number>`(1 - consumed_fraction)`;
const hasBudget = sql<SqlBool>`(is_watched = 1 and consumed_fraction is not null)`;

/**
 * A page of contracts: first those with a budget, the least remaining first, then those without, by install and id.
 *
 * @param after the last contract of the page before
 */
export async function pageContracts(
  ctx: Storage,
  filter: PageFilter,
  after: ContractPosition | undefined,
): Promise<FundedContract[]> {
  // In two parts, each by an index, so that no page sorts all contracts.
  const isInRest = after?.remainingFraction === null;
  const first = isInRest ? [] : await listWithBudget(ctx, filter, after);
  if (first.length === pageSize) return first;
  return [...first, ...(await listRest(ctx, filter, isInRest ? after : undefined, pageSize - first.length))];
}

export async function listParticipants({ database }: Storage, contracts: readonly ContractKey[]) {
  const ids = contracts.map(({ contractId }) => contractId);
  return await database.kysely
    .selectFrom('participation')
    .leftJoin('person', onSame('person', 'participation', ['install', 'trainerId']))
    .select(['participation.install', 'participation.contractId', 'participation.trainerId', 'displayName'])
    .where('participation.contractId', 'in', ids)
    .orderBy('participation.trainerId')
    .execute();
}

/** The contracts with this id. Several installs may have one. */
export async function findContracts(
  tx: Transaction,
  contractId: string,
  install?: string,
): Promise<ContractEvidence[]> {
  const rows = tx.selectFrom('contract').selectAll().orderBy('install');
  return await rows.where((eb) => eb.and({ contractId, ...given({ install }) })).execute();
}

export async function countDisputedContracts(ctx: Storage): Promise<{ install: string; count: number }[]> {
  const contradicted = await ctx.database.kysely
    .selectFrom('contract')
    .selectAll()
    .where(registersOf.disputed)
    .orderBy('install')
    .orderBy('contractId')
    .execute();
  const disputed = contradicted.filter((row) => shownStatusOf(row) === 'disputed');
  return [...Map.groupBy(disputed, ({ install }) => install)].map(([install, some]) => ({
    install,
    count: some.length,
  }));
}

async function listWithBudget(
  ctx: Storage,
  filter: PageFilter,
  after: ContractPosition | undefined,
): Promise<FundedContract[]> {
  let rows = selectContracts(ctx, filter).where(hasBudget);
  if (after !== undefined) {
    const { remainingFraction, install, contractId } = after;
    const key = sql`(${remaining}, budget.install, budget.contract_id)`;
    rows = rows.where(sql<SqlBool>`${key} > (${remainingFraction}, ${install}, ${contractId})`);
  }
  const ordered = rows.orderBy(remaining).orderBy('budget.install').orderBy('budget.contractId');
  return await ordered.limit(pageSize).execute();
}

async function listRest(
  ctx: Storage,
  filter: PageFilter,
  after: ContractKey | undefined,
  limit: number,
): Promise<FundedContract[]> {
  let rows = selectContracts(ctx, filter).where((eb) =>
    eb.or([eb('isWatched', 'is', null), eb('isWatched', '=', false), eb('consumedFraction', 'is', null)]),
  );
  if (after !== undefined) {
    const key = ['contract.install', 'contract.contractId'] as const;
    rows = rows.where((eb) => eb(eb.refTuple(...key), '>', eb.tuple(after.install, after.contractId)));
  }
  return await rows.orderBy('contract.install').orderBy('contract.contractId').limit(limit).execute();
}

function selectContracts(ctx: Storage, { install, search, contractId, budget, mayBe, isUnlisted = false }: PageFilter) {
  const values = { 'contract.install': install, 'contract.contractId': contractId, 'budget.state': budget };
  let rows = ctx.database.kysely
    .selectFrom('contract')
    .leftJoin('budget', onSame('budget', 'contract', ['install', 'contractId']))
    .selectAll('contract')
    .select(['budget.state as budgetState', 'consumedFraction'])
    .select(sql<number | null>`case when ${hasBudget} then ${remaining} end`.as('remainingFraction'))
    .where((eb) => eb.and(given(values)));
  if (search !== undefined) {
    const pattern = `%${search.toLowerCase().replaceAll(/[!%_]/g, '!$&')}%`;
    rows = rows.where((eb) =>
      eb.or([eb('contract.contractId', '=', search), sql<boolean>`lower(title) like ${pattern} escape '!'`]),
    );
  }
  if (mayBe !== undefined) rows = rows.where(registersOf[mayBe]);
  if (isUnlisted) rows = rows.where(isInNoList);
  return rows;
}

/** Links without a reported removal. `statusOfLink` decides whether they are live. */
export async function listLiveLinks(ctx: Storage, install?: string): Promise<LinkEvidence[]> {
  return await ctx.database.kysely
    .selectFrom('link')
    .selectAll()
    .where('removedEventAt', 'is', null)
    .where((eb) => eb.and(given({ install })))
    .orderBy('install')
    .orderBy('linkId')
    .execute();
}

/**
 * Leaves out most ended contracts, by the columns of `contract`. Keeps all active and disputed ones, and some others:
 * `statusOfContract` decides.
 */
export function mayBeOpen(): RawBuilder<boolean> {
  return sql<boolean>`(contract.ended_read_at is null and (contract.ended_event_at is null
    or contract.active_read_at > contract.ended_event_at or contract.reopened_at is not null))`;
}

/** Leaves out contracts that were confirmed since the last reading of their `install_state` began. */
export const isUnconfirmed = sql.join<SqlBool>(
  ['started_event_at', 'active_read_at', 'reopened_at'].map(
    (column) => sql`coalesce(contract.${sql.ref(column)}, '') < install_state.read_began_at`,
  ),
  sql` and `,
);
