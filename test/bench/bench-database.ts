import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createPostgresDatabase } from '../support/postgres-admin.ts';

export interface BenchDatabase {
  /** Of a new and empty database. */
  create(name: string): Promise<string>;
  close(): Promise<void>;
}

/** SQLite in a folder, or the PostgreSQL of the tests: a real one, but without `fsync`. */
export async function openBenchDatabase(
  dialect: 'sqlite' | 'postgres',
  folder: string,
): Promise<BenchDatabase> {
  return dialect === 'sqlite' ? createSqlite(folder) : await openPostgres();
}

function createSqlite(folder: string): BenchDatabase {
  return {
    create: async (name) => `sqlite:${path.join(folder, `${name}.db`)}`,
    close: async () => undefined,
  };
}

async function openPostgres(): Promise<BenchDatabase> {
  const owner = fork(path.join(import.meta.dirname, '../support/postgres-process.ts'));
  const [url] = (await once(owner, 'message')) as [string];
  return {
    async create(name) {
      await createPostgresDatabase(url, name, 'template0');
      return `${url}${name}`;
    },
    async close() {
      const ended = once(owner, 'exit');
      owner.disconnect();
      await ended;
    },
  };
}
