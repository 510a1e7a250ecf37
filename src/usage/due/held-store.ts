import { createHash } from 'node:crypto';
import { type ExpressionBuilder, sql } from 'kysely';
import type { Database, Transaction } from '../../db/database.ts';
import { inParts, jsonTexts, keyIn, toExcluded } from '../../db/query.ts';
import type { Row, Tables } from '../../db/schema.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import type { Counts, Day, WorkedOn } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';
import type { HeldWork, HeldWorkDecision } from '../attribute/attribute-work.ts';

// The SQL of work that waits for an operator, and of work that an operator decided about.

export type HeldState = HeldWork['state'];

/** Held work as it is stored. */
export interface HeldRow extends Omit<Row<'usageHeld'>, keyof Counts | 'workedOn' | 'contracts'> {
  workedOn: WorkedOn;
  counts: Counts;
  /** Contracts that the work may be of. */
  contracts: ContractKey[];
}

export interface HeldFilter {
  state?: HeldState | undefined;
  /** Work that may be of this install. */
  install?: string | undefined;
  /** Work that may be of this contract. */
  contractId?: string | undefined;
  from?: Day | undefined;
  to?: Day | undefined;
  /** The work listed last on the page before. */
  after?: Pick<HeldRow, 'day' | 'id'> | undefined;
  limit?: number | undefined;
}

export function heldIdOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 12);
}

export function toHeldRow({ key, observation, reason, contracts, state }: HeldWork, since: string): HeldRow {
  const { source, workedOn, trainerId, day, counts } = observation;
  const [install = '', ...others] = new Set(contracts.map((one) => one.install));
  const of = others.length > 0 ? '' : install || ('install' in workedOn ? workedOn.install : '');
  const work = { source, workedOn, trainerId, day, counts };
  return { id: heldIdOf(key), work: key, install: of, ...work, reason, contracts, state, since };
}

export async function loadHeldOf(
  database: Database,
  db: Transaction,
  { trainerIds, fromDay }: { trainerIds: readonly string[]; fromDay: Day },
): Promise<HeldRow[]> {
  const rows = await db
    .selectFrom('usageHeld')
    .selectAll()
    .where('trainerId', 'in', jsonTexts(database, trainerIds))
    .where('day', '>=', fromDay)
    .execute();
  return rows.map(fromRow);
}

export async function saveHeld(tx: Transaction, held: readonly HeldRow[]): Promise<void> {
  const rows = held.map(({ counts, workedOn, contracts, ...row }) => ({
    ...row,
    ...counts,
    workedOn: JSON.stringify(workedOn),
    contracts: JSON.stringify(contracts),
  }));
  for (const part of inParts(rows)) {
    const insert = tx.insertInto('usageHeld').values(part);
    const changed = toExcluded(Object.keys(part[0] ?? {}).filter((name) => name !== 'id'));
    await insert.onConflict((conflict) => conflict.column('id').doUpdateSet(changed)).execute();
  }
}

export async function dropHeld(tx: Transaction, rows: readonly HeldRow[]): Promise<void> {
  for (const part of inParts(rows))
    await tx
      .deleteFrom('usageHeld')
      .where(keyIn(['id'], part))
      .execute();
}

export async function findHeld(db: Transaction, id: string): Promise<HeldRow | undefined> {
  const row = await db.selectFrom('usageHeld').selectAll().where('id', '=', id).executeTakeFirst();
  return row && fromRow(row);
}

/** The oldest first. */
export async function listHeld(ctx: Storage, filter: HeldFilter = {}): Promise<HeldRow[]> {
  const { state, install, contractId, from, to, after, limit } = filter;
  let rows = ctx.database.kysely.selectFrom('usageHeld').selectAll().orderBy('day').orderBy('id');
  if (state !== undefined) rows = rows.where('state', '=', state);
  if (install !== undefined) rows = rows.where((eb) => mayBeOf(eb, { install }));
  if (contractId !== undefined) rows = rows.where((eb) => mayBeOf(eb, { contractId }));
  if (from !== undefined) rows = rows.where('day', '>=', from);
  if (to !== undefined) rows = rows.where('day', '<=', to);
  if (after !== undefined) {
    rows = rows.where((eb) => eb(eb.refTuple('day', 'id'), '>', eb.tuple(after.day, after.id)));
  }
  if (limit !== undefined) rows = rows.limit(limit);
  return (await rows.execute()).map(fromRow);
}

function mayBeOf(eb: ExpressionBuilder<Tables, 'usageHeld'>, of: Partial<ContractKey>) {
  const [[name, value] = []] = Object.entries(of);
  const named = eb('contracts', 'like', sql<string>`${`%${JSON.stringify({ [name ?? '']: value }).slice(1, -1)}%`}`);
  return 'install' in of
    ? eb.or([eb('install', '=', of.install ?? ''), eb.and([eb('install', '=', ''), named])])
    : named;
}

function fromRow({ seconds, tasks, labels, workedOn, contracts, ...row }: Row<'usageHeld'>): HeldRow {
  return {
    ...row,
    counts: { seconds, tasks, labels },
    workedOn: JSON.parse(workedOn) as WorkedOn,
    contracts: JSON.parse(contracts) as ContractKey[],
  };
}

/** The decisions about the work of these trainers, by the key of the work. */
export async function loadDecisions(
  database: Database,
  db: Transaction,
  trainerIds: readonly string[],
): Promise<Map<string, HeldWorkDecision>> {
  const rows = await db
    .selectFrom('usageDecision')
    .selectAll()
    .where('trainerId', 'in', jsonTexts(database, trainerIds))
    .execute();
  return new Map(
    rows.map(({ work, install, contractId, reason }) => {
      const contract = install === null || contractId === null ? null : { install, contractId };
      return [work, { contract, reason }];
    }),
  );
}

/** @param contract null where the work is never reported */
export async function keepDecision(
  tx: Transaction,
  { work, trainerId, reason }: Pick<HeldRow, 'work' | 'trainerId' | 'reason'>,
  contract: ContractKey | null,
  decidedAt: string,
): Promise<void> {
  const decided = { install: contract?.install ?? null, contractId: contract?.contractId ?? null, reason, decidedAt };
  await tx
    .insertInto('usageDecision')
    .values({ work, trainerId, ...decided })
    .onConflict((conflict) => conflict.column('work').doUpdateSet(decided))
    .execute();
}

/** @returns whether there was one */
export async function dropDecision(tx: Transaction, work: string): Promise<boolean> {
  const { numDeletedRows } = await tx.deleteFrom('usageDecision').where('work', '=', work).executeTakeFirst();
  return numDeletedRows > 0n;
}
