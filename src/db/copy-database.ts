import type { Buffer } from 'node:buffer';
import { sql } from 'kysely';
import { AppError } from '../domain/errors.ts';
import type { Database, Transaction } from './database.ts';
import { migrate, migrations } from './migrate.ts';
import { tables } from './schema.ts';
import { dropSetting, writeSetting } from './setting-store.ts';
import { snakeCaseOf } from './snake-case.ts';

/** Rows of one table; or the last number of each counter, by table. */
export type Part = { table: string; rows: Row[] } | { counters: Record<string, number> };

export type Row = Record<string, string | number | boolean | Buffer | null>;

export type RowCounts = Record<string, number>;

/** A delivery takes up to 256 KiB. */
const rowsAtOnce = 100;

const beginReading = {
  sqlite: sql`begin`,
  postgres: sql`begin isolation level repeatable read, read only`,
};

/** The names of the migrations that the database has run, in order. */
export async function listMigrations({ kysely }: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(kysely);
  return rows.map(({ name }) => name);
}

/**
 * Reads every table, as at one moment. No writer waits for it.
 *
 * @param take gets referenced tables before those that refer to them
 * @returns how many rows each table has
 */
export async function readTables(
  { kysely, dialect }: Database,
  take: (part: Part) => Promise<void>,
): Promise<RowCounts> {
  return await kysely.connection().execute(async (connection) => {
    await beginReading[dialect].execute(connection);
    try {
      const counts: RowCounts = {};
      for (const [table, { key }] of Object.entries(tables)) {
        counts[table] = 0;
        for await (const rows of readRows(connection, table, key)) {
          counts[table] += rows.length;
          await take({ table, rows });
        }
      }
      await take({ counters: await readCounters(connection, dialect) });
      return counts;
    } finally {
      await sql`rollback`.execute(connection);
    }
  });
}

async function* readRows(db: Transaction, table: string, key: string[]): AsyncGenerator<Row[]> {
  const columns = sql.join(key.map((column) => sql.ref(column)));
  for (let after: Row[string][] | undefined; ; ) {
    const rest = after === undefined ? sql`` : sql`where (${columns}) > (${sql.join(after)})`;
    const { rows } = await sql<Row>`
      select * from ${sql.table(table)} ${rest} order by ${columns} limit ${rowsAtOnce}`.execute(db);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsAtOnce) return;
    after = key.map((column) => last[column] ?? null);
  }
}

/** A counter never uses a number twice, also not that of a deleted row. */
async function readCounters(db: Transaction, dialect: Database['dialect']): Promise<Record<string, number>> {
  const counters: Record<string, number> = {};
  for (const [table, column] of counterColumns) {
    const { rows } = await lastNumber[dialect](table, column).execute(db);
    counters[table] = Number(rows[0]?.last ?? 0);
  }
  return counters;
}

const counterColumns = Object.entries(tables).flatMap(([table, { columns }]) =>
  Object.entries(columns).flatMap(([column, { facts }]) =>
    facts.type === 'counter' ? [[table, column] as const] : [],
  ),
);

const lastNumber = {
  sqlite: (table: string) => sql<{ last: number }>`
    select seq as last from sqlite_sequence where name = ${snakeCaseOf(table)}`,
  postgres: (table: string, column: string) => sql<{ last: number | null }>`
    select pg_sequence_last_value(${sequenceOf(table, column)}) as last`,
};

const setLastNumber = {
  async sqlite(tx: Transaction, table: string, _column: string, last: number): Promise<void> {
    const name = snakeCaseOf(table);
    await sql`delete from sqlite_sequence where name = ${name}`.execute(tx);
    await sql`insert into sqlite_sequence (name, seq) values (${name}, ${last})`.execute(tx);
  },
  async postgres(tx: Transaction, table: string, column: string, last: number): Promise<void> {
    await sql`select setval(${sequenceOf(table, column)}, greatest(${last}, 1), ${last} > 0)`.execute(tx);
  },
};

function sequenceOf(table: string, column: string) {
  return sql`pg_get_serial_sequence(${`"${snakeCaseOf(table)}"`}, ${snakeCaseOf(column)})::regclass`;
}

/**
 * Fills a database that has no data yet, in one transaction, and brings it to the tables of this version.
 *
 * @param ran the migrations that the rows are from
 * @param give calls its argument with every part
 * @returns how many rows each table got
 * @throws AppError `conflict` if the database has data, or if the rows are from a newer version
 */
export async function fillDatabase(
  database: Database,
  ran: readonly string[],
  give: (insert: (part: Part) => Promise<void>) => Promise<void>,
): Promise<RowCounts> {
  const unknown = ran.filter((name) => migrations[name] === undefined);
  if (unknown.length > 0) {
    throw new AppError(
      'conflict',
      `The rows were written by a newer version of Gangway (${unknown.join(', ')}): install that`,
    );
  }
  await migrate(database, Object.fromEntries(Object.entries(migrations).filter(([name]) => ran.includes(name))));
  const counts = await database.transact(async (tx) => {
    await refuseData(tx);
    await tx.deleteFrom('setting').execute();
    const given: RowCounts = {};
    await give(async (part) => {
      if ('table' in part) given[part.table] = (given[part.table] ?? 0) + part.rows.length;
      await insertPart(tx, database.dialect, part);
    });
    const found = await countTables(tx);
    // The mark of the database that the rows are from.
    await dropSetting(tx, 'database_made_as');
    const wrong = Object.keys(found).filter((table) => found[table] !== (given[table] ?? 0));
    if (wrong.length > 0) throw new AppError('internal', `Not every row was stored: ${wrong.join(', ')}`);
    await writeSetting(tx, 'restored', 'yes');
    return found;
  }, true);
  await migrate(database);
  return counts;
}

async function refuseData(tx: Transaction): Promise<void> {
  // Every database has settings, from its first migration on.
  const { setting: _, ...counts } = await countTables(tx);
  const filled = Object.keys(counts).filter((table) => counts[table] !== 0);
  if (filled.length === 0) return;
  throw new AppError(
    'conflict',
    `The database has data already (${filled.join(', ')}): move it away, or use a new one`,
  );
}

async function countTables(tx: Transaction): Promise<RowCounts> {
  const counts: RowCounts = {};
  for (const table of Object.keys(tables)) {
    const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(tx);
    counts[table] = Number(rows[0]?.n);
  }
  return counts;
}

async function insertPart(tx: Transaction, dialect: Database['dialect'], part: Part): Promise<void> {
  if ('counters' in part) {
    for (const [table, column] of counterColumns) {
      const last = part.counters[table] ?? 0;
      await setLastNumber[dialect](tx, table, column, last);
    }
    return;
  }
  const columns = Object.keys(part.rows[0] ?? {});
  const values = part.rows.map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`);
  const withIds = dialect === 'postgres' ? sql`overriding system value` : sql``;
  await sql`
    insert into ${sql.table(part.table)} (${sql.join(columns.map((column) => sql.ref(column)))}) ${withIds}
    values ${sql.join(values)}`.execute(tx);
}
