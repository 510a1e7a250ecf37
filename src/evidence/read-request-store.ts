import type { ExpressionBuilder } from 'kysely';
import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { upsert } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { jobOf } from '../jobs/job.ts';
import { wantJobs } from '../jobs/job-store.ts';

// The SQL of requests to read a contract from the marketplace: one row per contract.

export type ReadRequest = Pick<Row<'readRequest'>, 'install' | 'contractId' | 'wantedAt' | 'attempts'>;

/** Limits the requests that a claim checks for ended contracts, so that it stays short. */
const maxDropped = 500;

export async function requestReads(tx: Transaction, wanted: ContractKey[], now: string): Promise<void> {
  if (wanted.length === 0) return;
  const rows = wanted.map((target) => ({ ...target, wantedAt: now, attempts: 0, nextAttemptAt: now }));
  await upsert(tx, 'readRequest', ['install', 'contractId'], rows);
  const installs = [...new Set(wanted.map(({ install }) => install))];
  await wantJobs(tx, 'contracts', installs.sort().map(jobOf), now);
}

/**
 * The oldest requests of an install that are due, so that its contracts are read together. Requests for contracts that
 * have ended since are dropped.
 */
export async function takeReads(ctx: Storage, install: string, now: string, limit: number): Promise<ReadRequest[]> {
  return await inTransaction(ctx.database, async (tx) => {
    await dropEnded(tx, install, now, limit);
    return await tx
      .selectFrom('readRequest')
      .select(['install', 'contractId', 'wantedAt', 'attempts'])
      .where('install', '=', install)
      .where('nextAttemptAt', '<=', now)
      .orderBy('nextAttemptAt')
      .orderBy('wantedAt')
      .limit(limit)
      .execute();
  });
}

/** When the next request of an install is due; null if it has none. */
export async function nextReadAt({ database }: Storage, install: string): Promise<string | null> {
  const requests = database.kysely.selectFrom('readRequest').where('install', '=', install);
  return (await requests.select((eb) => eb.fn.min('nextAttemptAt').as('at')).executeTakeFirst())?.at ?? null;
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
      .set({ attempts: attempts + 1, nextAttemptAt })
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
