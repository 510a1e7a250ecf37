import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createPostgresDatabase } from '../support/postgres-admin.ts';

export interface BenchDatabase {
  /** Of a new and empty database. */
  create(name: string): Promise<string>;
  close(): Promise<void>;
}

/**
 * Runs a benchmark on databases that are gone afterwards, with the folder that they are in.
 *
 * @param base where that folder is made: what is measured depends on its disk
 * @param isDurable whether PostgreSQL waits for that disk as in earnest, and not in memory without `fsync`
 */
export async function withBenchDatabases(
  { postgres, folder: base, isDurable = false }: { postgres: boolean; folder: string; isDurable?: boolean },
  work: (databases: BenchDatabase, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(path.join(path.resolve(base), '.bench-'));
  const databases = postgres ? await openPostgres(isDurable ? path.resolve(base) : undefined) : createSqlite(folder);
  try {
    await work(databases, folder);
  } finally {
    await databases.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function createSqlite(folder: string): BenchDatabase {
  return {
    create: async (name) => `sqlite:${path.join(folder, `${name}.db`)}`,
    close: async () => undefined,
  };
}

/** The PostgreSQL of the tests. */
async function openPostgres(parent: string | undefined): Promise<BenchDatabase> {
  const file = path.join(import.meta.dirname, '../support/postgres-process.ts');
  const owner = fork(file, parent === undefined ? [] : [parent]);
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
