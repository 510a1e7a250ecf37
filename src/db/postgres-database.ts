import { Kysely } from 'kysely';
import pg from 'pg';
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
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: 5000,
    statement_timeout: longestStatementMs,
    idle_in_transaction_session_timeout: longestStatementMs,
    // The server answers or ends every statement before, and the pool closes what is idle.
    stream: () => openSocket(),
    application_name: 'gangway',
    types: { getTypeParser: typeParserOf },
  });
  // The pool replaces a broken connection. Without a listener its error would end the process. Code that
  // uses the connection gets the error from its query.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const channel = createChangeChannel(url, (text, values) => pool.query(text, values));
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

/** Counters and ids stay below 2^53, so they may be numbers as on SQLite. */
const typeParserOf: pg.CustomTypesConfig['getTypeParser'] = (oid, format) =>
  oid === int8Oid ? Number : pg.types.getTypeParser(oid, format);
