import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { Kysely } from 'kysely';
import type pg from 'pg';
import { createChangeNotice } from './change-notice.ts';
import type { Database, DatabaseWatch } from './database.ts';
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

/** The package is loaded here, so that SQLite does without it. */
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

const longestSilenceMs = 20_000;

/**
 * The socket of a connection to PostgreSQL. A half-open one neither answers nor fails, so a query would never end.
 *
 * @param silenceMs how long it may be silent, whether a query is under way or not
 */
function openSocket(silenceMs = longestSilenceMs): Socket {
  const socket = new Socket();
  socket.setTimeout(silenceMs, () => {
    socket.destroy(new Error('The connection to PostgreSQL was silent for too long'));
  });
  return socket;
}

/** Processes on one PostgreSQL tell each other here that they have written something. */
interface ChangeChannel {
  /** Call it after this process has committed something. The others are notified soon. */
  noteOwn(): void;
  watch(onChange: () => void, everyMs: number): DatabaseWatch;
  /** Resolves when the others are notified of the last change. */
  close(): Promise<void>;
}

/** Each notification is a commit, and PostgreSQL makes such commits one at a time. */
const notifyEveryMs = 500;
const usualWaitMs = 5000;

interface ListenerWaits {
  /** How long to wait before connecting again, and before asking whether the connection lives. */
  waitMs?: number;
  /** How long the server may be silent then. */
  silenceMs?: number;
}

/** @param query runs on a connection of the pool */
export function createChangeChannel(
  url: string,
  query: (text: string, values: string[]) => Promise<unknown>,
  waits: ListenerWaits = {},
): ChangeChannel {
  const id = randomUUID();
  let hasChanged = false;
  let notifying: NodeJS.Timeout | undefined;

  async function notify(): Promise<void> {
    clearTimeout(notifying);
    notifying = undefined;
    // Without the notification the others look all the same, but later.
    await query('select pg_notify($1, $2)', [channelName, id]).catch(() => undefined);
  }

  return {
    noteOwn() {
      hasChanged = true;
      notifying ??= setTimeout(() => void notify(), notifyEveryMs).unref();
    },
    watch(onChange, everyMs) {
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
    async close() {
      if (notifying !== undefined) await notify();
    },
  };
}

const channelName = 'gangway_changed';
/** Repeating it changes nothing, so it also tests the connection. */
const listen = `listen ${channelName}`;

/** @param onNotified gets the id of the sender; an empty one when notifications may have been missed */
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
      // A half-open connection is as silent as one without notifications.
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
