import { Kysely } from 'kysely';
import type pg from 'pg';
import { createChangeChannel } from './change-channel.ts';
import { createChangeNotice } from './change-notice.ts';
import type { Database } from './database.ts';
import { openSocket } from './open-socket.ts';
import type { Tables } from './schema.ts';
import { RowsInCamelCase, SnakeCasePostgresDialect } from './snake-case.ts';

const poolSize = 10;
const int8Oid = 20;
const longestStatementMs = 15_000;

/** In PostgreSQL every commit is durable. */
export function openPostgres(url: string): Database {
  let opened: Promise<pg.Pool> | undefined;
  const pool = () => (opened ??= openPool(url));
  const query = async (text: string, values: string[]) => await (await pool()).query(text, values);
  const channel = createChangeChannel(url, query);
  const notice = createChangeNotice(channel.noteOwn);
  const kysely = new Kysely<Tables>({
    dialect: new SnakeCasePostgresDialect({ pool }),
    plugins: [new RowsInCamelCase(), notice.plugin],
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

/** With SQLite nothing of the package is loaded. */
async function openPool(url: string): Promise<pg.Pool> {
  const { default: postgres } = await import('pg');
  const pool = new postgres.Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: 5000,
    statement_timeout: longestStatementMs,
    idle_in_transaction_session_timeout: longestStatementMs,
    // The server answers or ends every statement before, and the pool closes what is idle.
    stream: () => openSocket(),
    application_name: 'gangway',
    types: { getTypeParser: toNumbers(postgres.types) },
  });
  // The pool replaces a broken connection. Without a listener its error would end the process. Code that
  // uses the connection gets the error from its query.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Counters and ids stay below 2^53, so they may be numbers as on SQLite. */
function toNumbers({ getTypeParser }: typeof pg.types): pg.CustomTypesConfig['getTypeParser'] {
  return (oid, format) => (oid === int8Oid ? Number : getTypeParser(oid, format));
}
