import { type ExpressionBuilder, sql } from 'kysely';
import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { claimRows, isFree } from '../db/lock.ts';
import { installsIn } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import type { ContractKey } from '../domain/evidence.ts';

// The SQL of requests to read a contract from the marketplace: one row per contract.

export type ReadRequest = Pick<Row<'readRequest'>, 'install' | 'contractId' | 'wantedAt' | 'attempts'>;

/** Limits the requests that a claim checks for ended contracts, so that it stays short. */
const maxDropped = 500;

export async function requestReads(tx: Transaction, wanted: ContractKey[], now: string): Promise<void> {
  if (wanted.length === 0) return;
  const again = { wantedAt: now, attempts: 0, nextAttemptAt: now, leasedUntil: null };
  await tx
    .insertInto('readRequest')
    .values(wanted.map((target) => ({ ...target, ...again })))
    .onConflict((conflict) => conflict.columns(['install', 'contractId']).doUpdateSet(again))
    .execute();
}

/** The installs with due requests. */
export async function installsWithReadsDue(ctx: Storage, now: string): Promise<string[]> {
  const has = sql<boolean>`exists (select 1 from read_request where read_request.install = turn.install
    and next_attempt_at <= ${now} and ${isFree('readRequest', now)})`;
  return await installsIn(ctx.database.kysely, 'readRequest', { has });
}

/**
 * Leases the oldest requests of an install, so that its contracts are read together. Requests for contracts that have
 * ended since are dropped.
 */
export async function claimReads(
  ctx: Storage,
  install: string,
  now: string,
  leasedUntil: string,
  limit: number,
): Promise<ReadRequest[]> {
  return await inTransaction(ctx.database, async (tx) => {
    await dropEnded(tx, install, now, limit);
    const due = tx
      .selectFrom('readRequest')
      .select(['install', 'contractId', 'wantedAt', 'attempts'])
      .where('install', '=', install)
      .where('nextAttemptAt', '<=', now)
      .where(isFree('readRequest', now))
      .orderBy('nextAttemptAt')
      .orderBy('wantedAt')
      .limit(limit);
    const rows = await claimRows(ctx.database, due).execute();
    const contractIds = rows.map(({ contractId }) => contractId);
    await tx
      .updateTable('readRequest')
      .set({ leasedUntil })
      .where('install', '=', install)
      .where('contractId', 'in', contractIds)
      .execute();
    return rows;
  });
}

/** Deletes a request, unless it was made again meanwhile. */
export async function settleRead(tx: Transaction, { install, contractId, wantedAt }: ReadRequest): Promise<void> {
  await tx
    .deleteFrom('readRequest')
    .where((eb) => eb.and({ install, contractId, wantedAt }))
    .execute();
}

export async function postponeRead(
  ctx: Storage,
  { install, contractId, attempts }: ReadRequest,
  nextAttemptAt: string,
): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx
      .updateTable('readRequest')
      .set({ attempts: attempts + 1, nextAttemptAt, leasedUntil: null })
      .where((eb) => eb.and({ install, contractId }))
      .execute(),
  );
}

/** The contracts of an install with a request, as far as they have not ended since. */
export async function listOpenReads(ctx: Storage, install: string): Promise<string[]> {
  const open = ctx.database.kysely.selectFrom('readRequest').select('contractId').where('install', '=', install);
  const rows = await open.where((eb) => eb.not(hasEnded(eb))).execute();
  return rows.map(({ contractId }) => contractId);
}

function hasEnded(eb: ExpressionBuilder<Tables, 'readRequest'>) {
  return eb.exists(
    eb
      .selectFrom('contract')
      .select('contract.contractId')
      .whereRef('contract.install', '=', 'readRequest.install')
      .whereRef('contract.contractId', '=', 'readRequest.contractId')
      .where((of) => of.or([of('endedEventAt', 'is not', null), of('endedReadAt', 'is not', null)])),
  );
}

/** Checks only the first requests. The next claim checks more. */
async function dropEnded(tx: Transaction, install: string, now: string, limit: number): Promise<void> {
  const first = tx
    .selectFrom('readRequest')
    .select('contractId')
    .where('install', '=', install)
    .where('nextAttemptAt', '<=', now)
    .orderBy('nextAttemptAt')
    .limit(maxDropped + limit);
  await tx
    .deleteFrom('readRequest')
    .where('install', '=', install)
    .where('contractId', 'in', first)
    .where(hasEnded)
    .execute();
}
