import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { createChangeChannel } from './change-channel.ts';
import { createChangeNotice } from './change-notice.ts';
import type { Database } from './database.ts';
import type { Tables } from './tables.ts';

const poolSize = 10;
const int8Oid = 20;

/** PostgreSQL commits durably always. */
export function openPostgres(url: string): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: 5000,
    statement_timeout: 15_000,
    idle_in_transaction_session_timeout: 15_000,
    application_name: 'gangway',
    types: { getTypeParser: typeParserOf },
  });
  // A connection that breaks is replaced by the pool; unheard, it would end the process. Whoever was
  // using it is told by the query that fails, or by the next one.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const channel = createChangeChannel(url, (text, values) => pool.query(text, values));
  const notice = createChangeNotice(channel.noteOwn);
  const kysely = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new CamelCasePlugin(), notice.plugin],
  });
  return {
    dialect: 'postgres',
    url,
    kysely,
    transact: (work) => notice.within(() => kysely.transaction().execute(work)),
    watch: channel.watch,
    async close() {
      await channel.close();
      await kysely.destroy();
    },
  };
}

/** Counters and ids stay below 2^53, so they may be numbers as they are on SQLite. */
const typeParserOf: pg.CustomTypesConfig['getTypeParser'] = (oid, format) =>
  oid === int8Oid ? Number : pg.types.getTypeParser(oid, format);
