import { onTestFinished } from 'vitest';
import { end, receiveUrl, startMigrated, template } from './postgres-server.ts';

/** A PostgreSQL of a test's own, which it may stop. */
export interface OwnPostgres {
  /** Of a database that is migrated. */
  databaseUrl: string;
  /** Stops it immediately, as a crash would, and starts it again. */
  restart(): Promise<void>;
}

export async function openOwnPostgres(): Promise<OwnPostgres> {
  const { owner, url } = await startMigrated();
  onTestFinished(() => end(owner));
  return {
    databaseUrl: `${url}${template}`,
    async restart() {
      const restarted = receiveUrl(owner);
      owner.send('restart');
      await restarted;
    },
  };
}
