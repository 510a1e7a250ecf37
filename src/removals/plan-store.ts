import type { Database, Transaction } from '../db/database.ts';
import { inParts } from '../db/key-in.ts';
import { onSame } from '../db/on-same.ts';
import type { PlanItemOutcome } from '../db/removal-tables.ts';
import type { MembershipRow } from '../db/tables.ts';
import type { PlanState } from '../domain/brake.ts';
import { AppError } from '../domain/errors.ts';
import { revokedGrant } from '../domain/evidence-status.ts';
import type { RemovalCause } from '../domain/standing.ts';
import { clearRemovals } from '../memberships/clearance-store.ts';

/** The only SQL of plans: held removals, and what an operator decides about them. */
export interface PlanStore {
  list(filter: { install?: string | undefined; state?: PlanState | undefined }): Promise<Plan[]>;
  find(planId: number): Promise<Plan | undefined>;
  show(planId: number): Promise<PlanItem[]>;
  /** The plan's own install, and all installs that have, or had, a reason for one of its memberships. */
  installsOf(planId: number): Promise<PlanInstall[]>;
  /** @throws AppError `not_found`, or `conflict` if it is already decided */
  findOpen(planId: number): Promise<Plan>;
  /**
   * Clears the removals whose membership has not changed since they were held. The others are stale.
   *
   * @throws AppError `not_found`, or `conflict` if it is already decided
   */
  approve(tx: Transaction, planId: number, now: string): Promise<PlanResult>;
  /** Keeps the members in until there is new evidence. */
  reject(tx: Transaction, planId: number, now: string): Promise<PlanResult>;
}

export interface Plan {
  id: number;
  install: string;
  state: PlanState;
  createdAt: string;
  decidedAt: string | null;
  size: number;
}

export interface PlanInstall {
  install: string;
  /** Whether its grant is revoked, as far as is known. */
  isRevoked: boolean;
}

export interface PlanItem {
  membershipId: number;
  tool: string;
  groupId: string;
  trainerId: string;
  displayName: string | null;
  cause: RemovalCause;
  outcome: PlanItemOutcome | null;
  /** The contracts of the install that were a reason for it. */
  contractIds: string[];
  /** Whether the membership has changed since. */
  isStale: boolean;
  /** The current state of the membership. */
  current: Pick<MembershipRow, 'state' | 'wanted' | 'cause'>;
}

export interface PlanResult {
  install: string;
  decided: number;
  stale: number;
}

export function createPlanStore({ kysely }: Database): PlanStore {
  return {
    async list({ install, state }) {
      let plans = selectPlans(kysely);
      if (install !== undefined) plans = plans.where('install', '=', install);
      if (state !== undefined) plans = plans.where('state', '=', state);
      return (await plans.orderBy('id').execute()).map(toPlan);
    },

    async find(planId) {
      const row = await selectPlans(kysely).where('id', '=', planId).executeTakeFirst();
      return row && toPlan(row);
    },

    async show(planId) {
      const rows = await kysely
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
      const contracts = await contractsOf(kysely, planId);
      return rows.map(({ generation, currentGeneration, state, wanted, currentCause, ...item }) => ({
        ...item,
        current: { state, wanted, cause: currentCause },
        contractIds: contracts.get(item.membershipId) ?? [],
        isStale: item.outcome === null ? generation !== currentGeneration : item.outcome === 'stale',
      }));
    },

    async installsOf(planId) {
      const reasons = await kysely
        .selectFrom('planItem')
        .innerJoin('reason', 'reason.membershipId', 'planItem.membershipId')
        .select('reason.install')
        .distinct()
        .where('planId', '=', planId)
        .execute();
      const { install: own } = await findOpen(kysely, planId);
      const installs = [...new Set([own, ...reasons.map(({ install }) => install)])].sort();
      const grants = await kysely.selectFrom('installGrant').selectAll().where('install', 'in', installs).execute();
      return installs.map((install) => {
        const itsGrants = grants.filter((grant) => grant.install === install);
        return { install, isRevoked: revokedGrant(itsGrants) !== null };
      });
    },

    findOpen: (planId) => findOpen(kysely, planId),

    async approve(tx, planId, now) {
      const install = await decide(tx, planId, 'approved', now);
      const { standing, stale } = await sortItems(tx, planId);
      const cleared = standing.map((removal) => ({ removal, clearance: 'approved' as const }));
      await clearRemovals(tx, install, cleared, now);
      await setOutcomes(tx, planId, standing, 'approved');
      return { install, decided: standing.length, stale };
    },

    async reject(tx, planId, now) {
      const install = await decide(tx, planId, 'rejected', now);
      const { standing, stale } = await sortItems(tx, planId);
      await setOutcomes(tx, planId, standing, 'rejected');
      return { install, decided: standing.length, stale };
    },
  };
}

async function contractsOf(db: Transaction, planId: number): Promise<Map<number, string[]>> {
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
  const contracts = new Map<number, string[]>();
  for (const { membershipId, contractId } of rows) {
    contracts.set(membershipId, [...(contracts.get(membershipId) ?? []), contractId]);
  }
  return contracts;
}

function selectPlans(db: Transaction) {
  return db.selectFrom('plan').select((eb) => [
    'id',
    'install',
    'state',
    'createdAt',
    'decidedAt',
    eb
      .selectFrom('planItem')
      .select((of) => of.fn.countAll<number>().as('n'))
      .whereRef('planItem.planId', '=', 'plan.id')
      .as('size'),
  ]);
}

function toPlan<Row extends { size: number | null }>(row: Row) {
  return { ...row, size: row.size ?? 0 };
}

async function decide(tx: Transaction, planId: number, state: PlanState, now: string): Promise<string> {
  const decided = await tx
    .updateTable('plan')
    .set({ state, decidedAt: now })
    .where('id', '=', planId)
    .where('state', '=', 'open')
    .returning('install')
    .executeTakeFirst();
  return (decided ?? (await findOpen(tx, planId))).install;
}

async function findOpen(db: Transaction, planId: number): Promise<Plan> {
  const plan = await selectPlans(db).where('id', '=', planId).executeTakeFirst();
  if (plan === undefined) throw new AppError('not_found', `There is no plan ${planId}`);
  if (plan.state === 'open') return toPlan(plan);
  throw new AppError('conflict', `Plan ${planId} was ${plan.state} before`);
}

/** Separates the unchanged items from the stale ones, and marks the stale ones. */
async function sortItems(tx: Transaction, planId: number) {
  const items = await tx
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
    .execute();
  const isStanding = (item: (typeof items)[number]) =>
    item.generation === item.currentGeneration && item.state === 'held';
  const standing = items
    .filter(isStanding)
    .map(({ membershipId, generation, cause }) => ({ membershipId, generation, cause, isOurs: true, canReturn: true }));
  const stale = items.filter((item) => !isStanding(item));
  await setOutcomes(tx, planId, stale, 'stale');
  return { standing, stale: stale.length };
}

async function setOutcomes(
  tx: Transaction,
  planId: number,
  items: { membershipId: number }[],
  outcome: PlanItemOutcome,
): Promise<void> {
  for (const part of inParts(items)) {
    await tx
      .updateTable('planItem')
      .set({ outcome })
      .where('planId', '=', planId)
      .where(
        'membershipId',
        'in',
        part.map(({ membershipId }) => membershipId),
      )
      .execute();
  }
}
