import { randomUUID } from 'node:crypto';
import { type SqlBool, sql } from 'kysely';
import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { takeTurn } from '../db/lock.ts';
import { inParts } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import type { Job, JobKey, JobName } from './job.ts';

// The only SQL of jobs.

type NamedJob = Pick<Row<'job'>, 'kind' | 'key'>;

export interface JobClaim extends Job {
  kind: string;
  token: string;
}

/**
 * Makes jobs due at an instant unless they are due sooner, and adds missing ones. A job that is running runs once more
 * afterwards. The back-off of a failing job starts over.
 */
export async function wantJobs(tx: Transaction, kind: JobName, jobs: readonly JobKey[], dueAt: string): Promise<void> {
  for (const part of inParts(jobs)) {
    await tx
      .insertInto('job')
      .values(part.map(({ key, install }) => ({ kind, key, install, dueAt, asks: 1 })))
      .onConflict((conflict) =>
        conflict
          .columns(['kind', 'key'])
          .doUpdateSet((eb) => ({
            dueAt: sql<string>`case when job.due_at < ${dueAt} and job.attempts = 0 then job.due_at else ${dueAt} end`,
            install: eb.ref('excluded.install'),
            asks: sql<number>`job.asks + 1`,
            attempts: 0,
          }))
          // The other jobs wait for its next try, and would fail for the same reason.
          .where('job.holdsOthers', '=', false),
      )
      .execute();
  }
}

/** The same for standing jobs, except those that are failing. */
export async function hurryJobs(
  tx: Transaction,
  kind: JobName,
  installs: readonly string[],
  dueAt: string,
): Promise<void> {
  if (installs.length === 0) return;
  await tx
    .updateTable('job')
    .set({
      dueAt: sql<string>`case when due_at < ${dueAt} then due_at else ${dueAt} end`,
      asks: sql<number>`asks + 1`,
    })
    .where('kind', '=', kind)
    .where('key', 'in', installs)
    .where('attempts', '=', 0)
    .execute();
}

/** Adds the missing ones among these jobs. The others keep their due time. */
export async function addJobs(tx: Transaction, kind: JobName, jobs: readonly JobKey[], dueAt: string): Promise<void> {
  for (const part of inParts(jobs)) {
    const insert = tx.insertInto('job').values(part.map(({ key, install }) => ({ kind, key, install, dueAt })));
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
  }
}

/** The same for standing jobs. Usually none is missing, and nothing is written. */
export async function addStandingJobs(
  { database }: Storage,
  jobs: readonly (JobKey & { kind: JobName })[],
  dueAt: string,
): Promise<void> {
  const kinds = [...new Set(jobs.map(({ kind }) => kind))];
  if (kinds.length === 0) return;
  const nameOf = ({ kind, key }: NamedJob) => JSON.stringify([kind, key]);
  const rows = await database.kysely.selectFrom('job').select(['kind', 'key']).where('kind', 'in', kinds).execute();
  const known = new Set(rows.map(nameOf));
  const added = jobs.filter((job) => !known.has(nameOf(job)));
  for (const [kind, missing] of Map.groupBy(added, (job) => job.kind)) {
    await inTransaction(database, (tx) => addJobs(tx, kind, missing, dueAt));
  }
}

/** Makes a job that is not due yet due at another time, as if it had just succeeded. */
export async function moveJob(
  tx: Transaction,
  kind: JobName,
  key: string,
  { now, dueAt }: { now: string; dueAt: string },
): Promise<void> {
  await tx
    .updateTable('job')
    .set({ ...succeeded, dueAt })
    .where('kind', '=', kind)
    .where('key', '=', key)
    .where('dueAt', '>', now)
    .execute();
}

export async function dropJob(tx: Transaction, kind: JobName, key: string): Promise<void> {
  await tx.deleteFrom('job').where('kind', '=', kind).where('key', '=', key).execute();
}

/** Drops all jobs of an install that is removed. */
export async function dropJobsOf(tx: Transaction, install: string): Promise<void> {
  await tx.deleteFrom('job').where('install', '=', install).execute();
}

export interface DueTurn {
  kind: string;
  install: string;
  /** Since when the oldest of its jobs is due. */
  since: string;
}

/** Counts the due jobs whose kind starts with a prefix. */
export async function countDueJobs(ctx: Storage, prefix: string, now: string): Promise<number> {
  const due = ctx.database.kysely
    .selectFrom('job')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('kind', 'like', `${prefix}%`)
    .where('dueAt', '<=', now);
  return Number((await due.executeTakeFirstOrThrow()).n);
}

/** The installs with due jobs, for every kind. */
export async function listDueTurns(ctx: Storage, now: string): Promise<DueTurn[]> {
  const due = selectDue(ctx.database.kysely, now).select((eb) => ['kind', 'install', eb.fn.min('dueAt').as('since')]);
  return await due.groupBy(['kind', 'install']).execute();
}

/** Leases the job of the kind and install that has been due for the longest time. */
export async function claimJob(
  ctx: Storage,
  kind: string,
  install: string,
  { now, leasedUntil }: { now: string; leasedUntil: string },
): Promise<JobClaim | null> {
  return await inTransaction(ctx.database, async (tx) => {
    await takeTurn(ctx.database, tx, `job ${kind} ${install}`);
    const next = selectDue(tx, now)
      .select(['key', 'asks', 'attempts', 'failingSince'])
      .where('kind', '=', kind)
      .where('install', '=', install)
      .orderBy('dueAt')
      .limit(1);
    const row = await next.executeTakeFirst();
    if (row === undefined) return null;
    const token = randomUUID();
    await tx
      .updateTable('job')
      .set({ leaseToken: token, leasedUntil })
      .where('kind', '=', kind)
      .where('key', '=', row.key)
      .execute();
    return { ...row, kind, install, token };
  });
}

/** @returns false if another process has the job now */
export async function renewJob(ctx: Storage, claim: JobClaim, leasedUntil: string): Promise<boolean> {
  const renewed = await inTransaction(ctx.database, (tx) => at(tx, claim).set({ leasedUntil }).executeTakeFirst());
  return renewed.numUpdatedRows > 0n;
}

export async function holdsJob(tx: Transaction, { kind, key, token }: JobClaim, now: string): Promise<boolean> {
  const held = tx.selectFrom('job').select('key').where('kind', '=', kind).where('key', '=', key);
  return (await held.where('leaseToken', '=', token).where('leasedUntil', '>', now).executeTakeFirst()) !== undefined;
}

/** Gives a job back unfinished. It stays due. */
export async function releaseJob(ctx: Storage, claim: JobClaim): Promise<void> {
  await inTransaction(ctx.database, (tx) => at(tx, claim).set(unleased).execute());
}

/** @param dueAt when it is due again, unless it was wanted meanwhile; null if it is done */
export async function settleJob(ctx: Storage, claim: JobClaim, dueAt: string | null): Promise<void> {
  const { kind, key, token, asks } = claim;
  await inTransaction(ctx.database, async (tx) => {
    if (dueAt === null) {
      const done = tx.deleteFrom('job').where((eb) => eb.and({ kind, key, leaseToken: token, asks }));
      if ((await done.executeTakeFirst()).numDeletedRows > 0n) return;
    }
    const next =
      dueAt === null ? sql.ref<string>('dueAt') : sql<string>`case when asks = ${asks} then ${dueAt} else due_at end`;
    await at(tx, claim)
      .set({ ...unleased, ...succeeded, dueAt: next, asks: sql<number>`asks - ${asks}` })
      .execute();
  });
}

export async function postponeJob(
  ctx: Storage,
  claim: JobClaim,
  failed: Pick<Row<'job'>, 'dueAt' | 'failure' | 'failureCode' | 'holdsOthers'> & { failedAt: string },
): Promise<void> {
  const { failedAt, ...changes } = failed;
  await inTransaction(ctx.database, (tx) =>
    at(tx, claim)
      .set({
        ...unleased,
        ...changes,
        attempts: claim.attempts + 1,
        failingSince: sql<string>`coalesce(failing_since, ${failedAt})`,
      })
      .execute(),
  );
}

/** The jobs of a kind and install that have failed several times in a row. */
export interface FailingJobs {
  kind: string;
  install: string;
  count: number;
  since: string;
  /** One of the failures. */
  failure: string;
  /** Whether all the jobs wait for one of them. */
  holdsOthers: boolean;
}

/** @param atOnce kinds that are listed after their first failure */
export async function listFailingJobs(
  ctx: Storage,
  times: number,
  atOnce: readonly JobName[] = [],
): Promise<FailingJobs[]> {
  const rows = await ctx.database.kysely
    .selectFrom('job')
    .select((eb) => ['kind', 'install', eb.fn.countAll<number>().as('count')])
    .select((eb) => [eb.fn.min('failingSince').as('since'), eb.fn.max('failure').as('failure')])
    .select(sql<number>`max(holds_others)`.as('holding'))
    .where('failingSince', 'is not', null)
    .where((eb) => eb.or([eb('attempts', '>=', times), ...atOnce.map((kind) => eb('kind', '=', kind))]))
    .groupBy(['kind', 'install'])
    .orderBy('kind')
    .orderBy('install')
    .execute();
  return rows.map(({ count, since, failure, holding, ...row }) => {
    return { ...row, count: Number(count), since: since ?? '', failure: failure ?? '', holdsOthers: holding === 1 };
  });
}

const unleased = { leaseToken: null, leasedUntil: null };
const succeeded = { attempts: 0, failure: null, failureCode: null, failingSince: null, holdsOthers: false };

function at(tx: Transaction, { kind, key, token }: JobClaim) {
  return tx.updateTable('job').where('kind', '=', kind).where('key', '=', key).where('leaseToken', '=', token);
}

/** One job of each kind and install runs at a time. While one holds the others back, only that one is due. */
function selectDue(tx: Transaction, now: string) {
  const other = sql`select 1 from job as other where other.kind = job.kind and other.install = job.install`;
  return tx
    .selectFrom('job')
    .where('dueAt', '<=', now)
    .where(sql<SqlBool>`not exists (${other} and leased_until is not null and leased_until > ${now})`)
    .where(
      sql<SqlBool>`(holds_others = 1 or not exists (${other} and failing_since is not null and holds_others = 1))`,
    );
}
