import { type RawBuilder, sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import type { PersonTable } from '../db/tables.ts';
import { type Evidence, mergeRegisters, type PersonEvidence } from '../domain/evidence.ts';
import type { SecretBox } from '../lib/secret-box.ts';

/** The only SQL about the registers. Merging reads, merges by the domain's rule, and writes back. */
export interface EvidenceStore {
  /**
   * Lets one instance at a time change evidence, until the transaction ends. Two that derived
   * memberships side by side could each count on a reason that the other is taking away.
   */
  lock(tx: Transaction): Promise<void>;
  /** @returns only the rows that say more than before */
  merge(tx: Transaction, evidence: Evidence): Promise<Evidence>;
  /** Whose memberships may be touched by these rows. */
  trainersOf(tx: Transaction, changed: Evidence): Promise<string[]>;
}

type Table = 'contract' | 'link' | 'installGrant' | 'contractLink' | 'participation' | 'person';
type Row = Record<string, unknown>;

/** Arbitrary, but the same in every instance. */
const evidenceLockId = 7_107_100_001;

export function createEvidenceStore({ dialect }: Database, box: SecretBox): EvidenceStore {
  return {
    async lock(tx) {
      // On SQLite the transaction itself holds the only write lock.
      if (dialect === 'postgres')
        await sql`select pg_advisory_xact_lock(${evidenceLockId})`.execute(tx);
    },

    merge: async (tx, evidence) => ({
      contracts: await mergeInto(tx, 'contract', ['install', 'contractId'], evidence.contracts),
      links: await mergeInto(tx, 'link', ['install', 'linkId'], evidence.links),
      grants: await mergeInto(tx, 'installGrant', ['install', 'grantId'], evidence.grants),
      pairs: await mergeInto(
        tx,
        'contractLink',
        ['install', 'contractId', 'linkId'],
        evidence.pairs,
      ),
      participations: await mergeInto(
        tx,
        'participation',
        ['install', 'contractId', 'trainerId'],
        evidence.participations,
      ),
      people: await mergeInto(tx, 'person', ['install', 'trainerId'], evidence.people, {
        toRow: (person) => sealPerson(box, person),
        fromRow: (row) => openPerson(box, row as unknown as PersonTable),
      }),
    }),

    async trainersOf(tx, { contracts, links, pairs, participations, people }) {
      const onContracts = await trainersOnContracts(tx, [
        ...contracts,
        ...pairs,
        ...participations,
      ]);
      const onLinks = await trainersOnLinks(tx, links);
      return [...new Set([...onContracts, ...onLinks, ...people.map((one) => one.trainerId)])];
    },
  };
}

/** How rows of a table differ from the domain's; most do not. */
interface Conversion<T> {
  toRow(evidence: T): Row;
  fromRow(row: Row): T;
}

async function mergeInto<T extends object>(
  tx: Transaction,
  table: Table,
  key: string[],
  added: T[],
  convert: Conversion<T> = { toRow: (row) => row as Row, fromRow: (row) => row as T },
): Promise<T[]> {
  if (added.length === 0) return [];
  const keyOf = (row: object) => JSON.stringify(key.map((column) => (row as Row)[column]));
  const merged = foldByKey(added, keyOf);
  const stored = foldByKey(
    (await load(tx, table, key, [...merged.values()] as Row[])).map(convert.fromRow),
    keyOf,
  );
  const changed = [...merged].flatMap(([id, row]) => {
    const before = stored.get(id);
    if (before === undefined) return [row];
    const after = mergeRegisters(before, row);
    return JSON.stringify(after) === JSON.stringify(before) ? [] : [after];
  });
  if (changed.length > 0) await save(tx, table, key, changed.map(convert.toRow));
  return changed;
}

function foldByKey<T extends object>(rows: T[], keyOf: (row: T) => string): Map<string, T> {
  const byKey = new Map<string, T>();
  for (const row of rows) {
    const same = byKey.get(keyOf(row));
    byKey.set(keyOf(row), same === undefined ? row : mergeRegisters(same, row));
  }
  return byKey;
}

async function load(tx: Transaction, table: Table, key: string[], rows: Row[]): Promise<Row[]> {
  const query = sql<Row>`select * from ${sql.table(table)} where ${keyIn(key, rows)}`;
  return (await query.execute(tx)).rows;
}

async function save(tx: Transaction, table: Table, key: string[], rows: Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const others = columns.filter((column) => !key.includes(column));
  const refs = (names: string[]) => sql.join(names.map((name) => sql.ref(name)));
  const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`);
  const updates = others.map((name) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`);
  const action = others.length === 0 ? sql`nothing` : sql`update set ${sql.join(updates)}`;
  await sql`insert into ${sql.table(table)} (${refs(columns)}) values ${sql.join(values)}
    on conflict (${refs(key)}) do ${action}`.execute(tx);
}

/** `(a, b) in (values (…), (…))`, which both databases understand. */
function keyIn(key: string[], rows: object[], of?: string): RawBuilder<boolean> {
  const refs = key.map((column) => sql.ref(of === undefined ? column : `${of}.${column}`));
  const values = rows.map((row) => sql`(${sql.join(key.map((column) => (row as Row)[column]))})`);
  return sql`(${sql.join(refs)}) in (values ${sql.join(values)})`;
}

async function trainersOnContracts(tx: Transaction, rows: object[]): Promise<string[]> {
  if (rows.length === 0) return [];
  const found = await tx
    .selectFrom('participation')
    .select('trainerId')
    .distinct()
    .where(keyIn(['install', 'contractId'], rows))
    .execute();
  return found.map((row) => row.trainerId);
}

async function trainersOnLinks(tx: Transaction, rows: object[]): Promise<string[]> {
  if (rows.length === 0) return [];
  const found = await tx
    .selectFrom('contractLink')
    .innerJoin('participation', (join) =>
      join
        .onRef('participation.install', '=', 'contractLink.install')
        .onRef('participation.contractId', '=', 'contractLink.contractId'),
    )
    .select('participation.trainerId')
    .distinct()
    .where(keyIn(['install', 'linkId'], rows, 'contractLink'))
    .execute();
  return found.map((row) => row.trainerId);
}

function sealPerson(box: SecretBox, person: PersonEvidence): Row {
  const { workEmail } = person;
  return {
    ...person,
    workEmail: workEmail === null ? null : box.seal(Buffer.from(workEmail), workEmailPlace(person)),
    workEmailDigest: workEmail === null ? null : box.digest(workEmail.toLowerCase()),
  };
}

function openPerson(box: SecretBox, { workEmailDigest: _, ...row }: PersonTable): PersonEvidence {
  const { workEmail } = row;
  return {
    ...row,
    workEmail:
      workEmail === null ? null : box.open(workEmail, workEmailPlace(row)).toString('utf8'),
  };
}

/** Where an address lies, as its seal is bound to it. */
export function workEmailPlace({
  install,
  trainerId,
}: Pick<PersonEvidence, 'install' | 'trainerId'>): string {
  return `person.work_email:${install}/${trainerId}`;
}
