import { sql } from 'kysely';
import type { Storage } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { inParts, keyIn } from '../db/query.ts';
import { type Row as RowOf, tables } from '../db/schema.ts';
import { workEmailContext } from '../db/seal-contexts.ts';
import {
  type ContractEvidence,
  type ContractKey,
  type Evidence,
  type GrantEvidence,
  type LinkEvidence,
  mergeRegisters,
  type PairEvidence,
  type ParticipationEvidence,
  type PersonEvidence,
} from '../domain/evidence.ts';
import { areContractsRead, leftSince, movedSince, statusOfContract, statusOfLink } from '../domain/evidence-status.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import { readHires } from '../inbox/storage-store.ts';
import type { SecretBox } from '../keys/secret-box.ts';

// The only SQL that writes registers. Merging reads the stored rows, merges by the rule of the domain and writes back.

type Table = 'contract' | 'link' | 'installGrant' | 'contractLink' | 'participation' | 'person';
type Row = Record<string, unknown>;

/** @returns the rows whose meaning has changed */
export async function mergeEvidence(ctx: Storage, tx: Transaction, evidence: Evidence): Promise<Evidence> {
  return {
    contracts: await mergeInto(tx, 'contract', evidence.contracts, { meaningOf: meaningOfContract }),
    links: await mergeInto(tx, 'link', evidence.links, { meaningOf: meaningOfLink }),
    grants: await mergeInto(tx, 'installGrant', evidence.grants, { meaningOf: meaningOfGrant }),
    pairs: await mergeInto(tx, 'contractLink', evidence.pairs, { meaningOf: (pair) => movedSince(pair) }),
    participations: await mergeInto(tx, 'participation', evidence.participations, {
      meaningOf: (one) => leftSince(one),
    }),
    people: await mergeInto(tx, 'person', evidence.people, {
      toRow: (person) => sealPerson(ctx.box, person),
      fromRow: (row) => openPerson(ctx.box, row as unknown as RowOf<'person'>),
      // Names do not decide about access.
      meaningOf: ({ workEmail }) => workEmail,
    }),
  };
}

interface Merging<T> {
  /** Converts between the domain's object and the row, if they differ. */
  toRow?(evidence: T): Row;
  fromRow?(row: Row): T;
  /** Everything that can follow from a row. If it stays the same, the change of the row has no consequences. */
  meaningOf(evidence: T): unknown;
}

/** A later read with the same content has no consequences. */
function meaningOfContract(contract: ContractEvidence): unknown {
  const { endedEventAt, endedReadAt, endedByOperatorAt, startDate, endDate } = contract;
  const ends = [endedEventAt, endedReadAt !== null, endedByOperatorAt];
  // The dates decide to which contract work belongs.
  return [statusOfContract(contract), ...ends, startDate, endDate];
}

function meaningOfLink(link: LinkEvidence): unknown {
  const { externalProjectId, provisioningMode, seenAt } = link;
  const status = statusOfLink(link);
  // For a link that is gone, the time when it was last seen tells its grant.
  const lastSeenAt = status === 'live' ? null : seenAt;
  return [status, externalProjectId, provisioningMode, areContractsRead(link), lastSeenAt];
}

function meaningOfGrant(grant: GrantEvidence): unknown {
  const { revokedEventAt, firstActiveReadAt, activeReadAt } = grant;
  return [revokedEventAt, firstActiveReadAt, revokedEventAt === null ? null : activeReadAt];
}

async function mergeInto<T extends object>(
  tx: Transaction,
  table: Table,
  added: T[],
  { toRow = (row) => row as Row, fromRow = (row) => row as T, meaningOf }: Merging<T>,
): Promise<T[]> {
  const [any] = added;
  if (any === undefined) return [];
  const { key = [] } = tables[table] ?? {};
  const keyOf = (row: object) => JSON.stringify(key.map((column) => (row as Row)[column]));
  const merged = foldByKey(added, keyOf);
  const stored = foldByKey(
    (await load(tx, table, { key, columns: Object.keys(toRow(any)) }, [...merged.values()])).map(fromRow),
    keyOf,
  );
  const changed = [...merged].flatMap(([id, row]) => {
    const before = stored.get(id);
    const after = before === undefined ? row : mergeRegisters(before, row);
    return isSame(before, after) ? [] : [{ before, after }];
  });
  const rows = changed.map(({ after }) => toRow(after));
  for (const part of inParts(rows)) await save(tx, table, key, part);
  return changed.flatMap(({ before, after }) =>
    before !== undefined && isSame(meaningOf(before), meaningOf(after)) ? [] : [after],
  );
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function foldByKey<T extends object>(rows: T[], keyOf: (row: T) => string): Map<string, T> {
  const byKey = new Map<string, T>();
  for (const row of rows) {
    const same = byKey.get(keyOf(row));
    byKey.set(keyOf(row), same === undefined ? row : mergeRegisters(same, row));
  }
  return byKey;
}

/** Reads only the columns that this version knows. Other columns keep their values. */
async function load(
  tx: Transaction,
  table: Table,
  { key, columns }: { key: string[]; columns: string[] },
  rows: readonly object[],
): Promise<Row[]> {
  const loaded: Row[] = [];
  for (const part of inParts(rows)) {
    const query = sql<Row>`select ${refsOf(columns)} from ${sql.table(table)}
      where ${keyIn(key, part)}`;
    loaded.push(...(await query.execute(tx)).rows);
  }
  return loaded;
}

async function save(tx: Transaction, table: Table, key: string[], rows: Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const others = columns.filter((column) => !key.includes(column));
  const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`);
  const updates = others.map((name) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`);
  const action = others.length === 0 ? sql`nothing` : sql`update set ${sql.join(updates)}`;
  await sql`insert into ${sql.table(table)} (${refsOf(columns)}) values ${sql.join(values)}
    on conflict (${refsOf(key)}) do ${action}`.execute(tx);
}

function refsOf(columns: string[]) {
  return sql.join(columns.map((name) => sql.ref(name)));
}

function sealPerson(box: SecretBox, person: PersonEvidence): Row {
  const { workEmail } = person;
  return {
    ...person,
    workEmail: workEmail === null ? null : box.seal(Buffer.from(workEmail), workEmailContext(person)),
    workEmailDigest: workEmail === null ? null : box.digest(workEmail.toLowerCase()),
    workEmailDomain: workEmail === null ? null : domainOf(workEmail),
  };
}

function openPerson(
  box: SecretBox,
  { workEmailDigest: _, workEmailDomain: __, ...row }: RowOf<'person'>,
): PersonEvidence {
  const { workEmail } = row;
  return {
    ...row,
    workEmail: workEmail === null ? null : box.open(workEmail, workEmailContext(row)).toString('utf8'),
  };
}

/** Returns the rows that are not stored yet. */
export async function findNewRows<R extends PairEvidence | ParticipationEvidence>(
  tx: Transaction,
  table: 'contractLink' | 'participation',
  key: readonly (keyof R & string)[],
  rows: readonly R[],
): Promise<R[]> {
  const keyOf = (row: object) => JSON.stringify(key.map((column) => (row as Row)[column]));
  const stored = await load(tx, table, { key: [...key], columns: [...key] }, rows);
  const known = new Set(stored.map(keyOf));
  return rows.filter((row) => !known.has(keyOf(row)));
}

export type EvidenceBound = 'hires_of_install' | 'trainers_of_contract' | 'contracts_of_trainer' | 'links_of_contract';

/** The install, or the contract or trainer of an install, that a bound applies to. */
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

const noPerson = {
  displayName: null,
  displayNameVersion: null,
  workEmail: null,
  workEmailVersion: null,
  addressMissing: null,
  addressMissingVersion: null,
  workEmailDigest: null,
  workEmailDomain: null,
};

/** @returns how many contracts had a title */
export async function clearContractTitles(tx: Transaction, contracts: readonly ContractKey[]): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('contract')
    .set({ title: null, titleVersion: null })
    .where('title', 'is not', null)
    .where(keyIn(['install', 'contractId'], contracts))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/**
 * Clears names and addresses. If a contract of these people is still active, its participants are read again, because
 * only that brings the address back.
 *
 * @returns how many people had any
 */
export async function clearPersonalData(
  tx: Transaction,
  people: readonly Pick<PersonEvidence, 'install' | 'trainerId'>[],
): Promise<number> {
  const contracts = await tx
    .selectFrom('participation')
    .select(['install', 'contractId'])
    .distinct()
    .where(keyIn(['install', 'trainerId'], people))
    .execute();
  for (const part of inParts(contracts)) {
    await tx
      .updateTable('contract')
      .set({ participantsReadAt: null })
      .where('participantsReadAt', 'is not', null)
      .where(keyIn(['install', 'contractId'], part))
      .execute();
  }
  const { numUpdatedRows } = await tx
    .updateTable('person')
    .set(noPerson)
    .where((eb) => eb.or([eb('displayName', 'is not', null), eb('workEmail', 'is not', null)]))
    .where(keyIn(['install', 'trainerId'], people))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
