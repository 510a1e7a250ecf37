import { type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely';
import type { Column, Table } from '../src/db/columns.ts';
import { tables } from '../src/db/schema.ts';

/** Creates every table of the schema. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const types = db.getExecutor().adapter instanceof PostgresAdapter ? postgresTypes : sqliteTypes;
  const created = new Set<string>();
  async function create(name: string, table: Table): Promise<void> {
    if (created.has(name)) return;
    created.add(name);
    for (const { facts } of Object.values(table.columns)) {
      const referenced = facts.references === undefined ? undefined : tables[facts.references];
      if (facts.references !== undefined && referenced !== undefined) await create(facts.references, referenced);
    }
    await createTable(db, name, table, types);
  }
  for (const [name, table] of Object.entries(tables)) await create(name, table);
}

type ColumnTypes = Record<Column<unknown>['facts']['type'], RawBuilder<unknown>>;

const commonTypes = { integer: sql`integer`, bigint: sql`bigint`, real: sql`double precision` };

const sqliteTypes: ColumnTypes = {
  ...commonTypes,
  text: sql`text`,
  bytes: sql`blob`,
  counter: sql`integer primary key autoincrement`,
};

const postgresTypes: ColumnTypes = {
  ...commonTypes,
  // Sorted by bytes, as SQLite does. The locale of a database would sort otherwise.
  text: sql`text collate "C"`,
  bytes: sql`bytea`,
  counter: sql`bigint generated always as identity primary key`,
};

async function createTable(db: Kysely<unknown>, name: string, table: Table, types: ColumnTypes): Promise<void> {
  const parts = Object.entries(table.columns).map(([column, { facts }]) => {
    const words = [sql.ref(column), types[facts.type]];
    if (facts.default !== undefined) words.push(sql`default ${sql.lit(facts.default)}`);
    if (facts.isNullable !== true && facts.type !== 'counter') words.push(sql`not null`);
    if (facts.isUnique) words.push(sql`unique`);
    if (facts.references !== undefined) words.push(sql`references ${sql.table(facts.references)} (id)`);
    return sql.join(words, sql` `);
  });
  if (table.key !== undefined) parts.push(sql`primary key (${refs(table.key)})`);
  if (table.unique !== undefined) parts.push(sql`unique (${refs(table.unique)})`);
  const isPostgres = types === postgresTypes;
  const end = table.withoutRowid && !isPostgres ? sql` without rowid` : sql``;
  await sql`create table ${sql.table(name)} (${sql.join(parts)})${end}`.execute(db);
  for (const [ending, index] of Object.entries(table.indexes ?? {})) {
    const { on, isUnique = false, where = undefined } = Array.isArray(index) ? { on: index } : index;
    const kind = isUnique ? sql`unique index` : sql`index`;
    const isPartial = where === undefined ? sql`` : sql` where ${sql.raw(where)}`;
    await sql`create ${kind} ${sql.ref(`${name}${capitalize(ending)}`)} on ${sql.table(name)} (${refs(on)})${isPartial}`.execute(
      db,
    );
  }
}

function refs(columns: readonly (string | RawBuilder<unknown>)[]) {
  return sql.join(columns.map((column) => (typeof column === 'string' ? sql.ref(column) : sql`(${column})`)));
}

function capitalize(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}
