import { createHash } from 'node:crypto';
import type { ExpressionBuilder } from 'kysely';
import type { Storage } from '../../context.ts';
import type { Database, Transaction } from '../../db/database.ts';
import { hasChanged, inParts, jsonTexts, upsert } from '../../db/query.ts';
import type { Row, Tables } from '../../db/schema.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import type { Counts, Day, WorkedOn } from '../../domain/usage.ts';
import type { HeldWork, HeldWorkDecision } from '../attribute/attribute-work.ts';
import type { WorkSpan } from '../read/work-store.ts';

// The SQL of held work, and of what operators decided about it.

export type HeldState = HeldWork['state'];

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
  { trainerIds, fromDay }: WorkSpan,
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
  await upsert(tx, 'usageHeld', ['id'], rows);
}

export async function dropHeld(tx: Transaction, rows: readonly HeldRow[]): Promise<void> {
  for (const part of inParts(rows.map(({ id }) => id)))
    await tx.deleteFrom('usageHeld').where('id', 'in', part).execute();
}

export async function findHeld(db: Transaction, id: string): Promise<HeldRow | undefined> {
  const row = await db.selectFrom('usageHeld').selectAll().where('id', '=', id).executeTakeFirst();
  return row && fromRow(row);
}

/** The oldest first. */
export async function listHeld(ctx: Storage, filter: HeldFilter = {}): Promise<HeldRow[]> {
  const { state, install, contractId, from, to } = filter;
  let rows = ctx.database.kysely.selectFrom('usageHeld').selectAll().orderBy('day').orderBy('id');
  if (state !== undefined) rows = rows.where('state', '=', state);
  if (install !== undefined) {
    rows = rows.where((eb) =>
      eb.or([eb('install', '=', install), eb.and([eb('install', '=', ''), names(eb, { install })])]),
    );
  }
  if (contractId !== undefined) rows = rows.where((eb) => names(eb, { contractId }));
  if (from !== undefined) rows = rows.where('day', '>=', from);
  if (to !== undefined) rows = rows.where('day', '<=', to);
  return (await rows.execute()).map(fromRow);
}

/** A condition on the JSON of `contracts`. */
function names(eb: ExpressionBuilder<Tables, 'usageHeld'>, of: Partial<ContractKey>) {
  return eb('contracts', 'like', `%${JSON.stringify(of).slice(1, -1)}%`);
}

function fromRow({ seconds, tasks, labels, workedOn, contracts, ...row }: Row<'usageHeld'>): HeldRow {
  return {
    ...row,
    counts: { seconds, tasks, labels },
    workedOn: JSON.parse(workedOn) as WorkedOn,
    contracts: JSON.parse(contracts) as ContractKey[],
  };
}

/** By the key of the work: the decisions about these trainers' work. */
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

/** @param contract null if the work is never reported */
export async function keepDecision(
  tx: Transaction,
  { work, trainerId, reason }: Pick<HeldRow, 'work' | 'trainerId' | 'reason'>,
  contract: ContractKey | null,
  decidedAt: string,
): Promise<void> {
  const decided = { install: contract?.install ?? null, contractId: contract?.contractId ?? null, reason, decidedAt };
  await upsert(tx, 'usageDecision', ['work'], [{ work, trainerId, ...decided }]);
}

/** @returns whether there was one */
export function dropDecision(tx: Transaction, work: string): Promise<boolean> {
  return hasChanged(tx.deleteFrom('usageDecision').where('work', '=', work));
}
