import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import type { DatabaseWatch } from './database.ts';
import { openSocket } from './open-socket.ts';

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
const usualWaitMs = 5000;

export interface ListenerWaits {
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
/** Said again it changes nothing. */
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
      // A connection that is half open is as silent as one on which no process tells anything.
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
