import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { inParts, keyIn } from '../db/query.ts';
import type { PairEvidence, ParticipationEvidence } from '../domain/evidence.ts';
import { readHires } from '../inbox/storage-store.ts';

/** The SQL that counts how much an install has said about a contract or a trainer. */

/** Returns the rows that are not stored yet. */
export async function findNewRows<Row extends PairEvidence | ParticipationEvidence>(
  tx: Transaction,
  table: 'contractLink' | 'participation',
  key: readonly (keyof Row & string)[],
  rows: readonly Row[],
): Promise<Row[]> {
  const keyOf = (row: Row) => JSON.stringify(key.map((column) => row[column]));
  const known = new Set<string>();
  for (const part of inParts(rows)) {
    const columns = sql.join(key.map((column) => sql.ref(column)));
    const { rows: stored } = await sql<Row>`select ${columns} from ${sql.table(table)}
      where ${keyIn(key, part)}`.execute(tx);
    for (const row of stored) known.add(keyOf(row));
  }
  return rows.filter((row) => !known.has(keyOf(row)));
}

export type EvidenceBound = 'hires_of_install' | 'trainers_of_contract' | 'contracts_of_trainer' | 'links_of_contract';

/** What a bound counts for: an install, or a contract or a trainer of it. */
export interface BoundedSubject {
  install: string;
  id: string;
}

/** Counts the stored rows of each subject, by `subjectKey`. A subject without rows has no entry. */
export async function countStored(
  tx: Transaction,
  bound: EvidenceBound,
  of: readonly BoundedSubject[],
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  if (bound === 'hires_of_install') {
    for (const one of of) counts.set(subjectKey(one), await readHires(tx, one.install));
    return counts;
  }
  const { table, id } = countedBy[bound];
  for (const part of inParts(of)) {
    const rows = part.map((one) => ({ install: one.install, [id]: one.id }));
    const found = await sql<BoundedSubject & { count: number }>`
      select install, ${sql.ref(id)} as id, count(*) as count from ${sql.table(table)}
      where ${keyIn(['install', id], rows)} group by install, ${sql.ref(id)}`.execute(tx);
    for (const { count, ...one } of found.rows) counts.set(subjectKey(one), Number(count));
  }
  return counts;
}

export function subjectKey({ install, id }: BoundedSubject): string {
  return JSON.stringify([install, id]);
}

const countedBy = {
  trainers_of_contract: { table: 'participation', id: 'contractId' },
  contracts_of_trainer: { table: 'participation', id: 'trainerId' },
  links_of_contract: { table: 'contractLink', id: 'contractId' },
} as const satisfies Record<Exclude<EvidenceBound, 'hires_of_install'>, { table: string; id: string }>;
