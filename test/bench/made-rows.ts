import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';

/** What rows are made of by the database itself, on SQLite and on PostgreSQL: millions are there within seconds. */
export interface MadeRows {
  /** `counter(n)`, from 1. */
  counter(count: number): RawBuilder<unknown>;
  daysAgo(days: number): RawBuilder<unknown>;
  /** As `toBodyKey` makes it, of an event that was created `n` milliseconds after this. */
  bodyKey(createdMs: number): RawBuilder<unknown>;
  randomHex(bytes: number): RawBuilder<unknown>;
  bytes(count: number): RawBuilder<unknown>;
}

export function createMadeRows({ dialect }: Pick<Database, 'dialect'>): MadeRows {
  return dialect === 'sqlite' ? onSqlite : onPostgres;
}

const counter = (count: number) =>
  sql`with recursive counter(n) as (select 1 union all select n + 1 from counter where n < ${sql.lit(count)})`;

const sqliteInstant = "'%Y-%m-%dT%H:%M:%fZ', 'now'";

const onSqlite: MadeRows = {
  counter,
  daysAgo: (days) => sql.raw(`strftime(${sqliteInstant}, '-${days} days')`),
  bodyKey: (createdMs) => sql.raw(`unhex(printf('%012x', ${createdMs} + n) || hex(randomblob(32)))`),
  randomHex: (bytes) => sql.raw(`lower(hex(randomblob(${bytes})))`),
  bytes: (count) => sql.raw(`randomblob(${count})`),
};

const postgresInstant = (ago: string) =>
  `to_char((now() - ${ago}) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const hexOnPostgres = (bytes: number) =>
  `substr(${new Array(Math.ceil(bytes / 16)).fill("replace(gen_random_uuid()::text, '-', '')").join(' || ')}, 1, ${bytes * 2})`;

const onPostgres: MadeRows = {
  counter,
  daysAgo: (days) => sql.raw(postgresInstant(`${days} * interval '1 day'`)),
  bodyKey: (createdMs) =>
    sql.raw(`decode(lpad(to_hex(${createdMs}::bigint + n), 12, '0') || ${hexOnPostgres(32)}, 'hex')`),
  randomHex: (bytes) => sql.raw(hexOnPostgres(bytes)),
  bytes: (count) => sql.raw(`substr(decode(repeat(md5(n::text), ${Math.ceil(count / 16)}), 'hex'), 1, ${count})`),
};
