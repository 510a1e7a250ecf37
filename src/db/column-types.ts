import { type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely';

/** The column types whose names differ between the two databases. */
export interface ColumnTypes {
  bytes: 'blob' | 'bytea';
  /** A key that counts up; no value is used twice. */
  id: RawBuilder<unknown>;
}

export function columnTypesOf(db: Kysely<unknown>): ColumnTypes {
  return db.getExecutor().adapter instanceof PostgresAdapter
    ? { bytes: 'bytea', id: sql`bigint generated always as identity primary key` }
    : { bytes: 'blob', id: sql`integer primary key autoincrement` };
}
