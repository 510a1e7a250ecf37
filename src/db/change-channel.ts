import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { DatabaseWatch } from './database.ts';

/** Processes on one PostgreSQL tell each other here that they have written something. */
export interface ChangeChannel {
  /** Call it after this process has committed something. The others are notified soon. */
  noteOwn(): void;
  watch(onChange: () => void, everyMs: number): DatabaseWatch;
  /** Resolves when the others are notified of the last change. */
  close(): Promise<void>;
}

/** Each notification is a commit, and PostgreSQL makes such commits one at a time. */
const notifyEveryMs = 500;
const connectAgainMs = 5000;

/**
 * @param query runs on a connection of the pool
 * @param waitMs how long to wait before connecting again
 */
export function createChangeChannel(
  url: string,
  query: (text: string, values: string[]) => Promise<unknown>,
  waitMs = connectAgainMs,
): ChangeChannel {
  const id = randomUUID();
  let hasChanged = false;
  let notifying: NodeJS.Timeout | undefined;

  async function notify(): Promise<void> {
    clearTimeout(notifying);
    notifying = undefined;
    // Without the notification the others still look, but later.
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
      const listener = createListener(url, onNotified, waitMs);
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

/** @param onNotified gets the id of the sender; an empty one when notifications may have been missed */
function createListener(url: string, onNotified: (from: string) => void, waitMs: number): DatabaseWatch {
  let client: pg.Client | undefined;
  let again: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function connect(): Promise<void> {
    const connecting = new pg.Client({ connectionString: url, application_name: 'gangway', keepAlive: true });
    client = connecting;
    connecting.on('notification', ({ payload = '' }) => onNotified(payload));
    connecting.on('error', () => undefined);
    connecting.once('end', () => {
      if (!isStopped) again = setTimeout(() => void connect(), waitMs).unref();
    });
    try {
      await connecting.connect();
      await connecting.query(`listen ${channelName}`);
      onNotified('');
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
