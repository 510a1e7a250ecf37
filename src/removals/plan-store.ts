import type { Storage } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { lockRows } from '../db/lock.ts';
import { given, hasRows, onSame } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import type { PlanItemOutcome, PlanState } from '../domain/brake.ts';
import { AppError } from '../domain/errors.ts';
import { revokedGrant } from '../domain/evidence-status.ts';
import { approveRemovals } from '../memberships/clearance-store.ts';

// The SQL of plans: held removals, and an operator's decisions about them.

interface PlanFilter {
  install?: string | undefined;
  state?: PlanState | undefined;
}

export type Plan = Row<'plan'> & { size: number };

export interface PlanInstall {
  install: string;
  /** Whether its grant is known to be revoked. */
  isRevoked: boolean;
}

export interface PlanItem
  extends Pick<Row<'planItem'>, 'membershipId' | 'cause' | 'outcome'>,
    Pick<Row<'membership'>, 'tool' | 'groupId' | 'trainerId'> {
  displayName: string | null;
  /** The contracts of the install that were a reason for it. */
  contractIds: string[];
  /** Whether the membership has changed since. */
  isStale: boolean;
  /** The current state of the membership. */
  current: Pick<Row<'membership'>, 'state' | 'wanted' | 'cause'>;
}

export interface PlanResult {
  install: string;
  decided: number;
  stale: number;
  /** How many removals in the plan still wait for a decision. */
  open: number;
}

export async function listPlans(ctx: Storage, filter: PlanFilter): Promise<Plan[]> {
  return await selectPlans(ctx.database.kysely, filter).orderBy('id').execute();
}

/**
 * The newest first.
 *
 * @param before only plans with a smaller id: the page before one that was listed
 */
export async function pagePlans(
  ctx: Storage,
  { before, limit, ...filter }: PlanFilter & { before: number | undefined; limit: number },
): Promise<Plan[]> {
  let plans = selectPlans(ctx.database.kysely, filter).orderBy('id', 'desc').limit(limit);
  if (before !== undefined) plans = plans.where('id', '<', before);
  return await plans.execute();
}

export async function findPlan(ctx: Storage, id: number): Promise<Plan | undefined> {
  return await selectPlans(ctx.database.kysely, { id }).executeTakeFirst();
}

export async function listPlanItems(ctx: Storage, planId: number): Promise<PlanItem[]> {
  const rows = await ctx.database.kysely
    .selectFrom('planItem')
    .innerJoin('membership', 'membership.id', 'planItem.membershipId')
    .leftJoin('person', onSame('person', 'membership', ['install', 'trainerId']))
    .select([
      'membershipId',
      'tool',
      'groupId',
      'membership.trainerId',
      'person.displayName',
      'planItem.cause',
      'outcome',
      'membership.generation as currentGeneration',
      'planItem.generation',
      'membership.state',
      'membership.wanted',
      'membership.cause as currentCause',
    ])
    .where('planId', '=', planId)
    .orderBy('membershipId')
    .execute();
  const contracts = await contractsOf(ctx.database.kysely, planId);
  return rows.map(({ generation, currentGeneration, state, wanted, currentCause, ...item }) => ({
    ...item,
    current: { state, wanted, cause: currentCause },
    contractIds: (contracts.get(item.membershipId) ?? []).map(({ contractId }) => contractId),
    isStale: item.outcome === null ? generation !== currentGeneration : item.outcome === 'stale',
  }));
}

/**
 * The plan's own install, and all installs that have, or had, a reason for one of its memberships.
 *
 * @param only these memberships instead of all
 */
export async function installsOfPlan(ctx: Storage, planId: number, only?: readonly number[]): Promise<PlanInstall[]> {
  const rows = await ctx.database.kysely
    .selectFrom('planItem')
    .innerJoin('reason', 'reason.membershipId', 'planItem.membershipId')
    .select(['reason.install', 'planItem.membershipId'])
    .distinct()
    .where('planId', '=', planId)
    .where('outcome', 'is', null)
    .execute();
  const reasons = rows.filter(isAmong(only));
  const { install: own } = await findOpenPlan(ctx.database.kysely, planId);
  const installs = [...new Set([own, ...reasons.map(({ install }) => install)])].sort();
  const grants = await ctx.database.kysely
    .selectFrom('installGrant')
    .selectAll()
    .where('install', 'in', installs)
    .execute();
  return installs.map((install) => {
    const itsGrants = grants.filter((grant) => grant.install === install);
    return { install, isRevoked: revokedGrant(itsGrants) !== null };
  });
}

/**
 * Decides about the removals whose membership has not changed since they were held. Approved removals are due. After a
 * rejection the members stay until there is new evidence. The other removals become stale.
 *
 * @param only these memberships; the rest stays in the open plan
 * @throws AppError `not_found`, or `conflict` if the plan or one of these memberships is already decided
 */
export async function decidePlanItems(
  ctx: Storage,
  tx: Transaction,
  planId: number,
  decision: 'approved' | 'rejected',
  now: string,
  only?: readonly number[],
): Promise<PlanResult> {
  const { install } = await lockOpen(ctx.database, tx, planId);
  const { unchanged, stale } = await sortItems(tx, planId, only);
  if (decision === 'approved') await approveRemovals(tx, unchanged, now);
  await setOutcomes(tx, planId, unchanged, decision);
  const open = await closeDecided(tx, planId, decision, now);
  return { install, decided: unchanged.length, stale, open };
}

async function contractsOf(db: Transaction, planId: number) {
  const rows = await db
    .selectFrom('planItem')
    .innerJoin('plan', 'plan.id', 'planItem.planId')
    .innerJoin('reason', (join) =>
      join.onRef('reason.membershipId', '=', 'planItem.membershipId').onRef('reason.install', '=', 'plan.install'),
    )
    .select(['planItem.membershipId', 'contractId'])
    .distinct()
    .where('planId', '=', planId)
    .orderBy('contractId')
    .execute();
  return Map.groupBy(rows, ({ membershipId }) => membershipId);
}

function selectPlans(db: Transaction, filter: PlanFilter & { id?: number }) {
  return db
    .selectFrom('plan')
    .selectAll()
    .select((eb) =>
      eb
        .selectFrom('planItem')
        .select((of) => of.fn.countAll<number>().as('n'))
        .whereRef('planItem.planId', '=', 'plan.id')
        .as('size'),
    )
    .where((eb) => eb.and(given(filter)))
    .$narrowType<{ size: number }>();
}

/**
 * Closes a plan once every removal in it is decided. It counts as approved if a part of it was.
 *
 * @returns how many removals still wait for a decision
 */
async function closeDecided(tx: Transaction, planId: number, decision: PlanState, now: string): Promise<number> {
  const undecided = await listUndecided(tx, planId);
  const open = undecided.filter(isUnchanged);
  if (open.length > 0) return open.length;
  await setOutcomes(tx, planId, undecided, 'stale');
  const approved = tx.selectFrom('planItem').where('planId', '=', planId).where('outcome', '=', 'approved');
  const state = (await hasRows(approved)) ? 'approved' : decision;
  await tx.updateTable('plan').set({ state, decidedAt: now }).where('id', '=', planId).execute();
  return 0;
}

/** Locks the plan until the transaction ends, so that no removal is decided twice. */
async function lockOpen(database: Database, tx: Transaction, planId: number): Promise<Plan> {
  await lockRows(database, tx.selectFrom('plan').select('id').where('id', '=', planId)).execute();
  return await findOpenPlan(tx, planId);
}

/** @throws AppError `not_found`, or `conflict` if the plan is already decided */
export async function findOpenPlan(db: Transaction, planId: number): Promise<Plan> {
  const plan = await selectPlans(db, { id: planId }).executeTakeFirst();
  if (plan === undefined) throw new AppError('not_found', `There is no plan ${planId}`);
  if (plan.state === 'open') return plan;
  throw new AppError('conflict', `Plan ${planId} is already ${plan.state}`);
}

/** Separates the unchanged items from the stale ones, and marks the stale ones. */
async function sortItems(tx: Transaction, planId: number, only: readonly number[] | undefined) {
  const undecided = await listUndecided(tx, planId);
  const ids = new Set(undecided.map(({ membershipId }) => membershipId));
  const missing = only?.find((id) => !ids.has(id));
  if (missing !== undefined) {
    throw new AppError('conflict', `Plan ${planId} does not hold membership ${missing}`);
  }
  const items = undecided.filter(isAmong(only));
  const unchanged = items.filter(isUnchanged);
  const stale = items.filter((item) => !isUnchanged(item));
  await setOutcomes(tx, planId, stale, 'stale');
  return { unchanged, stale: stale.length };
}

function listUndecided(tx: Transaction, planId: number) {
  return tx
    .selectFrom('planItem')
    .innerJoin('membership', 'membership.id', 'planItem.membershipId')
    .select([
      'membershipId',
      'planItem.generation',
      'planItem.cause',
      'membership.generation as currentGeneration',
      'state',
    ])
    .where('planId', '=', planId)
    .where('outcome', 'is', null)
    .execute();
}

/** Whether the membership has not changed since its removal was held. */
function isUnchanged(item: Awaited<ReturnType<typeof listUndecided>>[number]): boolean {
  return item.generation === item.currentGeneration && item.state === 'held';
}

function isAmong(only: readonly number[] | undefined) {
  const ids = only && new Set(only);
  return ({ membershipId }: { membershipId: number }) => ids === undefined || ids.has(membershipId);
}

async function setOutcomes(
  tx: Transaction,
  planId: number,
  items: { membershipId: number }[],
  outcome: PlanItemOutcome,
): Promise<void> {
  const ids = items.map(({ membershipId }) => membershipId);
  const decided = tx.updateTable('planItem').set({ outcome }).where('planId', '=', planId);
  await decided.where('membershipId', 'in', ids).execute();
}
