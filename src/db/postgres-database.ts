import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { Kysely } from 'kysely';
import type pg from 'pg';
import { AppError } from '../domain/errors.ts';
import { createChangeNotice } from './change-notice.ts';
import type { Database, DatabaseWatch } from './database.ts';
import type { Tables } from './schema.ts';
import { RowsInCamelCase, SnakeCasePostgresDialect } from './snake-case.ts';

const poolSize = 10;
const int8Oid = 20;
const longestStatementMs = 15_000;

/** Every commit of PostgreSQL is durable. */
export function openPostgres(url: string): Database {
  let opened: Promise<pg.Pool> | undefined;
  const pool = () =>
    (opened ??= openPool(url).catch((error: unknown) => {
      opened = undefined;
      throw error;
    }));
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

/** The package is loaded here, because SQLite does not need it. */
async function openPool(url: string): Promise<pg.Pool> {
  const { default: postgres } = await import('pg');
  const pool = new postgres.Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: 5000,
    statement_timeout: longestStatementMs,
    idle_in_transaction_session_timeout: longestStatementMs,
    // The server answers or ends every statement sooner, and the pool closes idle connections.
    stream: () => openSocket(),
    application_name: 'gangway',
    types: { getTypeParser: toNumbers(postgres.types) },
  });
  // The pool replaces a broken connection, and whoever uses it gets the error from the query. Without these listeners the
  // error would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  await refuseBouncer(pool).catch(async (error: unknown) => {
    await pool.end();
    throw error;
  });
  return pool;
}

/**
 * PgBouncer does not pass the time limits on, or refuses them, and in transaction mode no notifications either.
 *
 * @throws AppError `invalid`
 */
async function refuseBouncer(pool: pg.Pool): Promise<void> {
  const passedOn = await pool.query<{ statement_timeout: string }>('show statement_timeout').catch((error: Error) => {
    if (!error.message.startsWith('unsupported startup parameter')) throw error;
  });
  if (passedOn?.rows[0]?.statement_timeout === `${longestStatementMs / 1000}s`) return;
  const advice = 'Set database.url to PostgreSQL itself. Gangway has a pool of its own';
  throw new AppError('invalid', `database.url leads to PgBouncer or another pool. ${advice}`);
}

/** Counters and ids stay below 2^53, so they are numbers, as on SQLite. */
function toNumbers({ getTypeParser }: typeof pg.types): pg.CustomTypesConfig['getTypeParser'] {
  return (oid, format) => (oid === int8Oid ? Number : getTypeParser(oid, format));
}

const longestSilenceMs = 20_000;

/**
 * The socket of a connection to PostgreSQL. A half-open connection neither answers nor fails, so a query would never end.
 *
 * @param silenceMs how long it may be silent, with a query or without
 */
function openSocket(silenceMs = longestSilenceMs): Socket {
  const socket = new Socket();
  socket.setTimeout(silenceMs, () => {
    socket.destroy(new Error('The connection to PostgreSQL was silent for too long'));
  });
  return socket;
}

/** Each notification is a commit, and PostgreSQL makes these one at a time. */
const notifyEveryMs = 500;
const usualWaitMs = 5000;

interface ListenerWaits {
  /** How long to wait before connecting again, and between tests of the connection. */
  waitMs?: number;
  /** How long the server may be silent. */
  silenceMs?: number;
}

/**
 * Processes on one PostgreSQL tell each other here that they have written something.
 *
 * @param query runs on a connection of the pool
 */
export function createChangeChannel(
  url: string,
  query: (text: string, values: string[]) => Promise<unknown>,
  waits: ListenerWaits = {},
) {
  const id = randomUUID();
  let hasChanged = false;
  let notifying: NodeJS.Timeout | undefined;

  async function notify(): Promise<void> {
    clearTimeout(notifying);
    notifying = undefined;
    // Without the notification, the others look a little later.
    await query('select pg_notify($1, $2)', [channelName, id]).catch(() => undefined);
  }

  return {
    /** Call it after this process has committed something. The others are notified soon. */
    noteOwn(): void {
      hasChanged = true;
      notifying ??= setTimeout(() => void notify(), notifyEveryMs).unref();
    },
    watch(onChange: () => void, everyMs: number): DatabaseWatch {
      const onNotified = (from: string) => {
        if (from !== id) hasChanged = true;
      };
      const listener = createListener(url, onNotified, waits);
      const timer = setInterval(() => {
        if (!hasChanged) return;
        hasChanged = false;
        onChange();
      }, everyMs);
      return {
        async stop() {
          clearInterval(timer);
          await listener.stop();
        },
      };
    },
    /** Resolves when the others are notified of the last change. */
    async close(): Promise<void> {
      if (notifying !== undefined) await notify();
    },
  };
}

const channelName = 'gangway_changed';
/** A repeat changes nothing, so it also tests the connection. */
const listen = `listen ${channelName}`;

/** @param onNotified gets the id of the sender, or an empty id if notifications may have been missed */
function createListener(
  url: string,
  onNotified: (from: string) => void,
  { waitMs = usualWaitMs, silenceMs }: ListenerWaits,
): DatabaseWatch {
  let client: pg.Client | undefined;
  let again: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function connect(): Promise<void> {
    const { default: postgres } = await import('pg');
    if (isStopped) return;
    const connecting = new postgres.Client({
      connectionString: url,
      application_name: 'gangway',
      stream: () => openSocket(silenceMs),
    });
    client = connecting;
    connecting.on('notification', ({ payload = '' }) => onNotified(payload));
    connecting.on('error', () => undefined);
    connecting.once('end', () => {
      if (!isStopped) again = setTimeout(() => void connect(), waitMs).unref();
    });
    try {
      await connecting.connect();
      await connecting.query(listen);
      onNotified('');
      // A half-open connection is silent too.
      for (;;) {
        await wait(waitMs, undefined, { ref: false });
        await connecting.query(listen);
      }
    } catch {
      await connecting.end().catch(() => undefined);
    }
  }

  void connect();
  return {
    async stop() {
      isStopped = true;
      clearTimeout(again);
      await client?.end().catch(() => undefined);
    },
  };
}
