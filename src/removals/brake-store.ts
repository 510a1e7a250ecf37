import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { inParts } from '../db/key-in.ts';
import { isFree } from '../db/lease.ts';
import type { Tables } from '../db/schema.ts';
import {
  type BrakeCounts,
  brakeWindowMs,
  type Clearance,
  countedAfterMs,
  type DueRemoval,
  deliveredWindowMs,
} from '../domain/brake.ts';
import { heldStates } from '../domain/membership.ts';
import { type ClearedRemoval, clearRemovals, holdRemovals, takeBackRemovals } from '../memberships/clearance-store.ts';

/** The only SQL of the brake: removals that are due, cleared or held. */
export interface BrakeStore {
  /** Installs with removals that are due. */
  installsDue(now: string): Promise<string[]>;
  /** The ids of its removals that are due. */
  due(install: string, now: string): Promise<number[]>;
  /** Those of these that are (still) due. */
  load(tx: Transaction, install: string, ids: readonly number[], now: string): Promise<DueMembership[]>;
  counts(tx: Transaction, install: string, now: Date): Promise<BrakeCounts>;
  /** Only that one of the counts. */
  countDelivered(tx: Transaction, install: string, now: Date): Promise<number>;
  /** Removals that were cleared within the window with one of these clearances and have not started. */
  unstarted(tx: Transaction, install: string, clearances: readonly Clearance[], now: Date): Promise<UnstartedRemoval[]>;
  clear(tx: Transaction, install: string, cleared: ClearedRemoval[], now: string): Promise<void>;
  /** Withdraws these clearances and returns the removals as due. If the limit is exceeded, all of them are held. */
  takeBack(tx: Transaction, install: string, clearances: readonly Clearance[], now: Date): Promise<DueMembership[]>;
  /** @returns the id of the plan */
  hold(tx: Transaction, install: string, held: HeldRemoval[], now: string): Promise<number>;
  lastPlanAt(tx: Transaction, install: string): Promise<string | null>;
}

export type HeldRemoval = Pick<DueRemoval, 'membershipId' | 'generation' | 'cause'>;

export interface DueMembership extends Omit<DueRemoval, 'canReturn'> {
  tool: string;
}

export interface UnstartedRemoval extends DueMembership {
  /** The id of the clearance record. */
  id: number;
}

export function createBrakeStore({ kysely }: Database): BrakeStore {
  return {
    async installsDue(now) {
      const rows = await kysely
        .selectFrom('membership')
        .select('install')
        .distinct()
        .where(isRemovalDue(now))
        .execute();
      return rows.map((row) => row.install);
    },

    async due(install, now) {
      const rows = await kysely
        .selectFrom('membership')
        .select('id')
        .where('install', '=', install)
        .where(isRemovalDue(now))
        .orderBy('id')
        .execute();
      return rows.map(({ id }) => id);
    },

    async load(tx, install, ids, now) {
      const due: DueMembership[] = [];
      for (const part of inParts(ids)) due.push(...(await loadDue(tx, install, part, now)));
      return due;
    },

    counts: countRemovals,
    countDelivered,

    clear: clearRemovals,

    unstarted: findUnstarted,

    async takeBack(tx, install, clearances, now) {
      const rows = await findUnstarted(tx, install, clearances, now);
      await takeBackRemovals(tx, rows);
      return rows.map(({ id: _, ...removal }) => removal);
    },

    async hold(tx, install, held, now) {
      const { id: planId } = await tx
        .insertInto('plan')
        .values({ install, state: 'open', createdAt: now, decidedAt: null })
        .returning('id')
        .executeTakeFirstOrThrow();
      for (const part of inParts(held)) {
        await tx
          .insertInto('planItem')
          .values(
            part.map(({ membershipId, generation, cause }) => ({
              planId,
              membershipId,
              generation,
              cause,
              outcome: null,
            })),
          )
          .execute();
        await holdRemovals(
          tx,
          part.map(({ membershipId }) => membershipId),
          now,
        );
      }
      return planId;
    },

    async lastPlanAt(tx, install) {
      const plan = await tx
        .selectFrom('plan')
        .select((eb) => eb.fn.max('createdAt').as('at'))
        .where('install', '=', install)
        .executeTakeFirst();
      return plan?.at ?? null;
    },
  };
}

async function loadDue(
  tx: Transaction,
  install: string,
  ids: readonly number[],
  now: string,
): Promise<DueMembership[]> {
  const rows = await tx
    .selectFrom('membership')
    .select(['id', 'generation', 'cause', 'isOurs', 'tool'])
    .select((eb) => wasApproved(eb).as('approved'))
    .where('id', 'in', ids)
    .where('install', '=', install)
    .where(isRemovalDue(now))
    .orderBy('id')
    .execute();
  return rows.flatMap(({ id: membershipId, generation, cause, isOurs, tool, approved }) => {
    const removal = { membershipId, generation, tool, isOurs };
    return cause === null ? [] : [{ ...removal, cause, isApproved: Boolean(approved) }];
  });
}

/** Whether an operator approved this removal before. */
function wasApproved(eb: ExpressionBuilder<Tables, 'membership'>) {
  return eb.exists(
    eb
      .selectFrom('planItem')
      .select('planItem.planId')
      .whereRef('planItem.membershipId', '=', 'membership.id')
      .whereRef('planItem.generation', '=', 'membership.generation')
      .where('planItem.outcome', '=', 'approved'),
  );
}

async function findUnstarted(
  tx: Transaction,
  install: string,
  clearances: readonly Clearance[],
  now: Date,
): Promise<UnstartedRemoval[]> {
  if (clearances.length === 0) return [];
  const since = new Date(now.getTime() - brakeWindowMs).toISOString();
  const rows = await tx
    .selectFrom('removal')
    .innerJoin('membership', 'membership.id', 'removal.membershipId')
    .select([
      ...(['removal.id', 'membershipId', 'membership.generation', 'membership.cause'] as const),
      ...(['isOurs', 'tool'] as const),
    ])
    .where('removal.install', '=', install)
    .where('clearedAt', '>', since)
    .where('clearance', 'in', clearances)
    .where('state', '=', 'removing')
    // A look has already found no member, so this removal only needs confirmation.
    .where('missedAt', 'is', null)
    .whereRef('removal.generation', '=', 'membership.generation')
    .where(isFree('membership', now.toISOString()))
    .execute();
  return rows.flatMap(({ cause, isOurs, ...row }) => (cause === null ? [] : [{ ...row, cause, isOurs }]));
}

/** The time has come, and no newer evidence about the trainer waits to be derived. */
function isRemovalDue(now: string) {
  return (eb: ExpressionBuilder<Tables, 'membership'>): Expression<SqlBool> =>
    eb.and([
      eb('removeAfter', '<=', now),
      eb.not(
        eb.exists(
          eb
            .selectFrom('derivation')
            .select('derivation.trainerId')
            .whereRef('derivation.trainerId', '=', 'membership.trainerId'),
        ),
      ),
    ]);
}

/** Counts what the brake decides by: an install's members, and its removed, cleared and held removals. */
async function countRemovals(tx: Transaction, install: string, now: Date): Promise<BrakeCounts> {
  const before = (ms: number) => new Date(now.getTime() - ms).toISOString();
  const since = before(brakeWindowMs);
  const held = await tx
    .selectFrom('membership')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('install', '=', install)
    .where('state', 'in', heldStates)
    .where((eb) => eb.or([eb('isOurs', '=', true), eb('memberId', 'is not', null)]))
    .where(wasInBefore(before(countedAfterMs)))
    .executeTakeFirstOrThrow();
  const passed = await tx
    .selectFrom('removal')
    .innerJoin('membership', 'membership.id', 'removal.membershipId')
    .select((eb) => [
      eb.fn
        .count<number>('removal.membershipId')
        .distinct()
        .filterWhere('membership.state', '=', 'removed')
        .filterWhere(wasInBefore(before(countedAfterMs)))
        .as('removed'),
      eb.fn.countAll<number>().filterWhere('clearance', '=', 'braked').as('braked'),
    ])
    .where('removal.install', '=', install)
    .where('clearedAt', '>', since)
    .executeTakeFirstOrThrow();
  const waiting = await tx
    .selectFrom('plan')
    .innerJoin('planItem', 'planItem.planId', 'plan.id')
    .innerJoin('membership', 'membership.id', 'planItem.membershipId')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('plan.install', '=', install)
    .where('plan.state', '=', 'open')
    .where('planItem.outcome', 'is', null)
    .whereRef('membership.generation', '=', 'planItem.generation')
    .executeTakeFirstOrThrow();
  return { ...passed, held: held.n, waiting: waiting.n, delivered: await countDelivered(tx, install, now) };
}

/** The delivered ends that were cleared in the last 10 minutes. */
async function countDelivered(tx: Transaction, install: string, now: Date): Promise<number> {
  const { n } = await tx
    .selectFrom('removal')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('install', '=', install)
    .where('clearedAt', '>', new Date(now.getTime() - deliveredWindowMs).toISOString())
    .where('clearance', '=', 'delivered')
    .executeTakeFirstOrThrow();
  return n;
}

/** Whether the member was found or added in the tool by then. */
function wasInBefore(at: string) {
  return (eb: ExpressionBuilder<Tables, 'membership'>): Expression<SqlBool> =>
    eb.exists(
      eb
        .selectFrom('receipt')
        .select('receipt.id')
        .whereRef('receipt.membershipId', '=', 'membership.id')
        .where('receipt.createdAt', '<=', at)
        .where('outcome', 'in', ['added', 'invited', 'already_member']),
    );
}
