import { randomUUID } from 'node:crypto';
import { inTransaction, type Transaction } from '../db/database.ts';
import { isFree } from '../db/lease.ts';
import type { Storage } from '../keys/storage.ts';
import type { DueBudget } from './budget-store.ts';

// The only SQL of the leases for reading budgets: one reader per install.

export interface ReaderClaimOrder {
  now: string;
  leasedUntil: string;
  installs: readonly string[];
  /** How many contracts at most. */
  limit: number;
}

export interface ReaderClaim {
  install: string;
  token: string;
  /** How often in a row the install was left to rest. */
  attempts: number;
  /** Those that have waited longest come first. */
  due: DueBudget[];
}

export async function hasBudgetDue(ctx: Storage, now: string, installs: readonly string[]): Promise<boolean> {
  return (await findDue(ctx.database.kysely, now, installs)) !== undefined;
}

/** Leases the next of these installs; null where none has anything due. */
export async function claimBudgetReader(
  ctx: Storage,
  { now, leasedUntil, installs, limit }: ReaderClaimOrder,
): Promise<ReaderClaim | null> {
  const next = await findDue(ctx.database.kysely, now, installs);
  if (next === undefined) return null;
  const { install } = next;
  const token = randomUUID();
  return await inTransaction(ctx.database, async (tx) => {
    const attempts = await lease(tx, { install, token, leasedUntil, now });
    if (attempts === undefined) return null;
    const rows = await tx
      .selectFrom('budget')
      .select(['contractId', 'nextReadAt', 'attempts'])
      .where('install', '=', install)
      .where('nextReadAt', '<=', now)
      .orderBy('nextReadAt')
      .orderBy('contractId')
      .limit(limit)
      .execute();
    const due = rows.map(({ nextReadAt, ...row }) => ({ ...row, install, dueAt: nextReadAt ?? now }));
    return { install, token, attempts, due };
  });
}

/** False where the lease ran out and another reader has the install. */
export async function holdBudgetReader(ctx: Storage, claim: ReaderClaim, leasedUntil: string): Promise<boolean> {
  const held = await inTransaction(ctx.database, (tx) => at(tx, claim).set({ leasedUntil }).executeTakeFirstOrThrow());
  return held.numUpdatedRows === 1n;
}

/** Releases the install, which has answered. */
export async function releaseBudgetReader(ctx: Storage, claim: ReaderClaim, hasAnswered: boolean): Promise<void> {
  const well = hasAnswered ? { attempts: 0, failure: null, restUntil: null } : {};
  await inTransaction(ctx.database, (tx) =>
    at(tx, claim)
      .set({ ...well, leaseToken: null, leasedUntil: null })
      .execute(),
  );
}

/** Releases the install and lets no reader ask for its budgets before that time. */
export async function restBudgetReader(
  ctx: Storage,
  claim: ReaderClaim,
  failure: string,
  restUntil: string,
): Promise<void> {
  const attempts = claim.attempts + 1;
  await inTransaction(ctx.database, (tx) =>
    at(tx, claim).set({ failure, restUntil, attempts, leaseToken: null, leasedUntil: null }).execute(),
  );
}

/** Installs that could not be asked so often in a row, and why. */
export function listFailingReaders(ctx: Storage, times: number): Promise<{ install: string; failure: string }[]> {
  return ctx.database.kysely
    .selectFrom('budgetReader')
    .select(['install', 'failure'])
    .where('attempts', '>=', times)
    .where('failure', 'is not', null)
    .$narrowType<{ failure: string }>()
    .orderBy('install')
    .execute();
}

async function findDue(tx: Transaction, now: string, installs: readonly string[]) {
  if (installs.length === 0) return undefined;
  return await tx
    .selectFrom('budget')
    .leftJoin('budgetReader', 'budgetReader.install', 'budget.install')
    .select('budget.install')
    .where('budget.install', 'in', installs)
    .where('nextReadAt', '<=', now)
    .where(isFree('budgetReader', now))
    .where((eb) => eb.or([eb('restUntil', 'is', null), eb('restUntil', '<=', now)]))
    .groupBy('budget.install')
    .orderBy((eb) => eb.fn.min('nextReadAt'))
    .limit(1)
    .executeTakeFirst();
}

interface Lease {
  install: string;
  token: string;
  leasedUntil: string;
  now: string;
}

/** @returns its attempts; undefined where another reader was faster */
async function lease(tx: Transaction, { install, token, leasedUntil, now }: Lease) {
  const leased = { leaseToken: token, leasedUntil };
  const reader = await tx
    .insertInto('budgetReader')
    .values({ install, ...leased })
    .onConflict((conflict) =>
      conflict
        .column('install')
        .doUpdateSet(leased)
        .where(isFree('budgetReader', now))
        .where((eb) => eb.or([eb('budgetReader.restUntil', 'is', null), eb('budgetReader.restUntil', '<=', now)])),
    )
    .returning('attempts')
    .executeTakeFirst();
  return reader?.attempts;
}

function at(tx: Transaction, { install, token }: ReaderClaim) {
  return tx.updateTable('budgetReader').where('install', '=', install).where('leaseToken', '=', token);
}
