import type { Storage } from '../../context.ts';
import { type Database, inTransaction } from '../../db/database.ts';
import type { Row } from '../../db/schema.ts';
import { outcomeOfRun, type RunNumbers, type RunTrigger } from '../../domain/run.ts';
import { isHeldBack, isWorkable } from '../../memberships/membership-store.ts';

// The only SQL of runs: what was read, and what was done in the tools since then.

export interface PlanWork {
  removed: number;
  failed: number;
  left: number;
}

export interface Since {
  at: string;
  afterReceipt: number;
}

export interface RunWork extends RunNumbers {
  /** The newest open plan of the install. */
  plan: number | null;
  /** Memberships that are due or claimed. */
  left: number;
}

export type OpenRun = Pick<Row<'run'>, 'install' | 'trigger' | 'beganAt' | 'afterReceipt' | 'readAt'> & {
  id: number;
  /** Until when a process has the install claimed; null if none has. */
  leasedUntil: string | null;
};

export type ListedRun = Omit<Row<'run'>, 'id' | 'afterReceipt' | keyof RunNumbers | 'contracts'> &
  RunNumbers & { id: number; contracts: number };

const keptMs = 30 * 86_400_000;

export async function lastReceiptId(ctx: Storage): Promise<number> {
  const last = ctx.database.kysely.selectFrom('receipt').select((eb) => eb.fn.max('id').as('id'));
  return (await last.executeTakeFirst())?.id ?? 0;
}

export async function beginRun(ctx: Storage, install: string, trigger: RunTrigger, beganAt: string): Promise<number> {
  const afterReceipt = await lastReceiptId(ctx);
  const oldest = new Date(Date.parse(beganAt) - keptMs).toISOString();
  return await inTransaction(ctx.database, async (tx) => {
    await tx.deleteFrom('run').where('install', '=', install).where('beganAt', '<', oldest).execute();
    const run = { install, trigger, beganAt, afterReceipt };
    const { id } = await tx.insertInto('run').values(run).returning('id').executeTakeFirstOrThrow();
    return id;
  });
}

/** Everything that was read is evidence now; the changes in the tools may still be under way. */
export async function noteRunRead(ctx: Storage, runId: number, contracts: number, readAt: string): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx.updateTable('run').set({ contracts, readAt }).where('id', '=', runId).execute(),
  );
}

export async function failRun(ctx: Storage, runId: number, failure: string, endedAt: string): Promise<void> {
  await writeEnd(ctx, runId, { failure, endedAt, outcome: 'failed' });
}

async function writeEnd(ctx: Storage, runId: number, ended: Partial<Row<'run'>>): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx.updateTable('run').set(ended).where('id', '=', runId).where('endedAt', 'is', null).execute(),
  );
}

/** The runs that have not ended. */
export function listOpenRuns(ctx: Storage): Promise<OpenRun[]> {
  return ctx.database.kysely
    .selectFrom('run')
    .leftJoin('job', (join) => join.onRef('job.key', '=', 'run.install').on('job.kind', '=', 'reconcile'))
    .select(['id', 'run.install', 'trigger', 'beganAt', 'afterReceipt', 'readAt', 'leasedUntil'])
    .where('endedAt', 'is', null)
    .orderBy('id')
    .execute();
}

/** The newest first. @param which of one install; with ids smaller than `before` */
export function listRuns(
  ctx: Storage,
  { install, before, limit }: { install?: string | undefined; before?: number | undefined; limit: number },
): Promise<ListedRun[]> {
  return ctx.database.kysely
    .selectFrom('run')
    .select(['id', 'install', 'trigger', 'beganAt', 'readAt', 'endedAt', 'outcome', 'failure'])
    .select(['contracts', 'added', 'removed', 'held', 'failed'])
    .$if(install !== undefined, (query) => query.where('install', '=', install ?? ''))
    .$if(before !== undefined, (query) => query.where('id', '<', before ?? 0))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

export async function endRun(
  ctx: Storage,
  runId: number,
  { plan: _, left, ...numbers }: RunWork,
  endedAt: string,
): Promise<void> {
  const failure = left > 0 ? `Not done in time: ${left}` : null;
  await writeEnd(ctx, runId, { ...numbers, outcome: outcomeOfRun(numbers, left), failure, endedAt });
}

/**
 * What was done for an install since a receipt, what is held, and what is left.
 *
 * @param until what is due by then counts as left
 */
export async function countRunWork(
  ctx: Storage,
  install: string,
  since: Since,
  now: string,
  until: string,
): Promise<RunWork> {
  // In this order, because work goes from due to held to done: work that leaves one count is in a later one.
  return {
    ...(await countNow(ctx.database, install, now, until)),
    ...(await countHeld(ctx.database, install)),
    ...(await countDone(ctx.database, install, since)),
  };
}

/** The newest open plan of an install; null if there is none. */
export async function openPlanOf(ctx: Storage, install: string): Promise<number | null> {
  return (await countHeld(ctx.database, install)).plan;
}

/** The progress of the removals of an approved plan. */
export async function countPlanWork(ctx: Storage, planId: number): Promise<PlanWork> {
  return await ctx.database.kysely
    .selectFrom('planItem')
    .innerJoin('membership', 'membership.id', 'planItem.membershipId')
    .select((eb) => [
      eb.fn.countAll<number>().filterWhere('membership.state', '=', 'removed').as('removed'),
      eb.fn.countAll<number>().filterWhere('failure', 'is not', null).as('failed'),
      eb.fn
        .countAll<number>()
        .filterWhere('membership.state', 'in', ['held', 'removing', 'failed'])
        // A member that a look did not find needs one more look, and no command waits for that.
        .filterWhere('missedAt', 'is', null)
        .as('left'),
    ])
    .where('planId', '=', planId)
    .where('planItem.outcome', '=', 'approved')
    .whereRef('planItem.generation', '=', 'membership.generation')
    .executeTakeFirstOrThrow();
}

async function countDone({ kysely }: Database, install: string, since: Since) {
  return await kysely
    .selectFrom('receipt')
    .innerJoin('membership', 'membership.id', 'receipt.membershipId')
    .select((eb) => [
      eb.fn.count<number>('membership.id').distinct().filterWhere('outcome', 'in', ['added', 'invited']).as('added'),
      eb.fn.count<number>('membership.id').distinct().filterWhere('outcome', '=', 'removed').as('removed'),
    ])
    .where('receipt.id', '>', since.afterReceipt)
    .where('receipt.createdAt', '>=', since.at)
    .where('membership.install', '=', install)
    .executeTakeFirstOrThrow();
}

async function countHeld({ kysely }: Database, install: string) {
  return await kysely
    .selectFrom('plan')
    .innerJoin('planItem', 'planItem.planId', 'plan.id')
    .innerJoin('membership', 'membership.id', 'planItem.membershipId')
    .select((eb) => [eb.fn.max('plan.id').as('plan'), eb.fn.countAll<number>().as('held')])
    .where('plan.install', '=', install)
    .where('plan.state', '=', 'open')
    .where('planItem.outcome', 'is', null)
    .whereRef('membership.generation', '=', 'planItem.generation')
    .executeTakeFirstOrThrow();
}

async function countNow({ kysely }: Database, install: string, now: string, until: string) {
  return await kysely
    .selectFrom('membership')
    .select((eb) => [
      eb.fn
        .countAll<number>()
        .filterWhere((of) => of.or([of('state', '=', 'failed'), of('failure', 'is not', null)]))
        .as('failed'),
      eb.fn
        .countAll<number>()
        .filterWhere((of) =>
          of.or([
            of('leasedUntil', '>', now),
            of('removeAfter', '<=', now),
            of.and([of('nextAttemptAt', '<=', until), isWorkable(of)]),
          ]),
        )
        .filterWhere((of) => of.not(isHeldBack(of)))
        .as('left'),
    ])
    .where('install', '=', install)
    .executeTakeFirstOrThrow();
}
