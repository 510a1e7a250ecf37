import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { DatabaseWatch } from './database.ts';

/** How the processes on one PostgreSQL learn that another has written something. */
export interface ChangeChannel {
  /** This process has committed something: the others are told soon. */
  noteOwn(): void;
  watch(onChange: () => void, everyMs: number): DatabaseWatch;
  /** The others are told by then of what is left. */
  close(): Promise<void>;
}

/** Telling takes a commit, and PostgreSQL makes one such commit at a time. */
const tellEveryMs = 500;
const connectAgainMs = 5000;

/** @param query on a connection of the pool, as it tells */
export function createChangeChannel(
  url: string,
  query: (text: string, values: string[]) => Promise<unknown>,
): ChangeChannel {
  const id = randomUUID();
  let hasChanged = false;
  let telling: NodeJS.Timeout | undefined;

  async function tell(): Promise<void> {
    clearTimeout(telling);
    telling = undefined;
    // Whoever is not told looks by itself, only later.
    await query('select pg_notify($1, $2)', [channelName, id]).catch(() => undefined);
  }

  return {
    noteOwn() {
      hasChanged = true;
      telling ??= setTimeout(() => void tell(), tellEveryMs).unref();
    },
    watch(onChange, everyMs) {
      const listener = createListener(url, (from) => {
        if (from !== id) hasChanged = true;
      });
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
      if (telling !== undefined) await tell();
    },
  };
}

const channelName = 'gangway_changed';

/** @param onTold with who has changed something; with nobody's id after what may have been missed */
function createListener(url: string, onTold: (from: string) => void): DatabaseWatch {
  let client: pg.Client | undefined;
  let again: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function connect(): Promise<void> {
    const connecting = new pg.Client({ connectionString: url, application_name: 'gangway', keepAlive: true });
    client = connecting;
    connecting.on('notification', ({ payload = '' }) => onTold(payload));
    connecting.on('error', () => undefined);
    connecting.once('end', () => {
      if (!isStopped) again = setTimeout(() => void connect(), connectAgainMs).unref();
    });
    try {
      await connecting.connect();
      await connecting.query(`listen ${channelName}`);
      onTold('');
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
