import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import type { PersonTable, Tables } from '../db/tables.ts';
import {
  type ContractEvidence,
  type Evidence,
  type GrantEvidence,
  type LinkEvidence,
  mergeRegisters,
  type PersonEvidence,
} from '../domain/evidence.ts';
import { leftSince, statusOfContract, statusOfLink } from '../domain/evidence-status.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import type { SecretBox } from '../lib/secret-box.ts';

/** The only SQL about the registers. Merging reads, merges by the domain's rule, and writes back. */
export interface EvidenceStore {
  /**
   * Lets one instance at a time change evidence, until the transaction ends. Two that derived
   * memberships side by side could each count on a reason that the other is taking away.
   */
  lock(tx: Transaction): Promise<void>;
  /** @returns only the rows from which something else follows than before */
  merge(tx: Transaction, evidence: Evidence): Promise<Evidence>;
  /** Whose memberships these rows touch directly: those of contracts and people. */
  trainersOf(tx: Transaction, changed: Evidence): Promise<string[]>;
  /**
   * Leaves the trainers of links and grants to be derived later: there is no bound to how many
   * they are. A link touches those of every link to its project, for it may take over from them.
   */
  postponeTrainersOf(tx: Transaction, changed: Evidence): Promise<void>;
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
      contracts: await mergeInto(tx, 'contract', ['install', 'contractId'], evidence.contracts, {
        meaningOf: meaningOfContract,
      }),
      links: await mergeInto(tx, 'link', ['install', 'linkId'], evidence.links, {
        meaningOf: meaningOfLink,
      }),
      grants: await mergeInto(tx, 'installGrant', ['install', 'grantId'], evidence.grants, {
        meaningOf: meaningOfGrant,
      }),
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
        { meaningOf: (participation) => leftSince(participation) },
      ),
      people: await mergeInto(tx, 'person', ['install', 'trainerId'], evidence.people, {
        toRow: (person) => sealPerson(box, person),
        fromRow: (row) => openPerson(box, row as unknown as PersonTable),
      }),
    }),

    async trainersOf(tx, { contracts, pairs, participations, people }) {
      const rows = [...contracts, ...pairs, ...participations];
      const onContracts = await trainersOnContracts(tx, rows);
      return [...new Set([...onContracts, ...people.map((one) => one.trainerId)])];
    },

    async postponeTrainersOf(tx, { links, grants }) {
      const installs = [...new Set(grants.map(({ install }) => install))];
      if (links.length > 0) await postpone(tx, trainersOnProjects(tx, links));
      if (installs.length > 0) {
        const all = tx.selectFrom('participation').where('install', 'in', installs);
        await postpone(tx, all.select('trainerId').distinct());
      }
    },
  };
}

interface Merging<T> {
  /** How rows of a table differ from the domain's; most do not. */
  toRow?(evidence: T): Row;
  fromRow?(row: Row): T;
  /** What follows from a row: where that is the same, one that says more changes nothing. */
  meaningOf?(evidence: T): unknown;
}

/** A later read of the same is written down, and no more. */
function meaningOfContract(contract: ContractEvidence): unknown {
  const { endedEventAt, endedReadAt, endedByOperatorAt } = contract;
  const ends = [endedEventAt, endedReadAt !== null, endedByOperatorAt];
  return [statusOfContract(contract), ...ends];
}

function meaningOfLink(link: LinkEvidence): unknown {
  const { externalProjectId, provisioningMode, contractsReadAt } = link;
  return [statusOfLink(link), externalProjectId, provisioningMode, contractsReadAt !== null];
}

function meaningOfGrant({ revokedEventAt, activeReadAt }: GrantEvidence): unknown {
  return [revokedEventAt, revokedEventAt === null ? activeReadAt !== null : activeReadAt];
}

async function mergeInto<T extends object>(
  tx: Transaction,
  table: Table,
  key: string[],
  added: T[],
  { toRow = (row) => row as Row, fromRow = (row) => row as T, meaningOf }: Merging<T> = {},
): Promise<T[]> {
  if (added.length === 0) return [];
  const keyOf = (row: object) => JSON.stringify(key.map((column) => (row as Row)[column]));
  const merged = foldByKey(added, keyOf);
  const stored = foldByKey(
    (await load(tx, table, key, [...merged.values()] as Row[])).map(fromRow),
    keyOf,
  );
  const changed = [...merged].flatMap(([id, row]) => {
    const before = stored.get(id);
    const after = before === undefined ? row : mergeRegisters(before, row);
    return isSame(before, after) ? [] : [{ before, after }];
  });
  const rows = changed.map(({ after }) => toRow(after));
  if (rows.length > 0) await save(tx, table, key, rows);
  return changed.flatMap(({ before, after }) =>
    before !== undefined && meaningOf && isSame(meaningOf(before), meaningOf(after)) ? [] : [after],
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

/** Those of the links themselves, and of every other link to the same project. */
function trainersOnProjects(tx: Transaction, links: LinkEvidence[]) {
  const projects = links.filter((link) => link.externalProjectId !== null);
  const byProject = keyIn(['install', 'externalProjectId'], projects, 'link');
  const byId = keyIn(['install', 'linkId'], links, 'link');
  return tx
    .selectFrom('link')
    .innerJoin('contractLink', (join) =>
      join
        .onRef('contractLink.install', '=', 'link.install')
        .onRef('contractLink.linkId', '=', 'link.linkId'),
    )
    .innerJoin('participation', (join) =>
      join
        .onRef('participation.install', '=', 'contractLink.install')
        .onRef('participation.contractId', '=', 'contractLink.contractId'),
    )
    .select('participation.trainerId')
    .distinct()
    .where(projects.length === 0 ? byId : sql<boolean>`(${byId} or ${byProject})`);
}

async function postpone(
  tx: Transaction,
  trainers: SelectQueryBuilder<Tables, 'participation', { trainerId: string }>,
): Promise<void> {
  await tx
    .insertInto('derivation')
    .columns(['trainerId'])
    .expression(trainers)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

function sealPerson(box: SecretBox, person: PersonEvidence): Row {
  const { workEmail } = person;
  return {
    ...person,
    workEmail: workEmail === null ? null : box.seal(Buffer.from(workEmail), workEmailPlace(person)),
    workEmailDigest: workEmail === null ? null : box.digest(workEmail.toLowerCase()),
    workEmailDomain: workEmail === null ? null : domainOf(workEmail),
  };
}

function openPerson(
  box: SecretBox,
  { workEmailDigest: _, workEmailDomain: __, ...row }: PersonTable,
): PersonEvidence {
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
