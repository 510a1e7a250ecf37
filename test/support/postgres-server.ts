import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/db/migrate.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { createPostgresDatabase, makeResettable } from './postgres-admin.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server that the whole run shares. */
    postgres: {
      /** Ends in `/`: a database's name is to follow. */
      url: string;
      /** The database that fresh ones are copied from: migrated already, and otherwise empty. */
      template: string;
    };
  }
}

export const template = 'gangway_template';

/** One real PostgreSQL for the whole run (vitest's `globalSetup`). */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { owner, url } = await startMigrated();
  await makeResettable(`${url}${template}`);
  project.provide('postgres', { url, template });
  return () => end(owner);
}

/** Starts a server with a template that is migrated. Its owner is to be ended. */
export async function startMigrated(
  program = new URL('./postgres-process.ts', import.meta.url),
): Promise<{ owner: ChildProcess; url: string }> {
  const owner = fork(program, { detached: true });
  const url = await receiveUrl(owner);
  await createPostgresDatabase(url, template, 'template0');
  const database = openDatabase(`${url}${template}`);
  await migrate(database);
  await database.close();
  return { owner, url };
}

export async function end(owner: ChildProcess): Promise<void> {
  const ended = once(owner, 'exit');
  owner.disconnect();
  await ended;
}

/** @throws Error if the owner ends instead */
export async function receiveUrl(owner: ChildProcess): Promise<string> {
  const [url] = (await Promise.race([once(owner, 'message'), failOnExit(owner)])) as [string];
  return url;
}

async function failOnExit(owner: ChildProcess): Promise<never> {
  await once(owner, 'exit');
  throw new Error('PostgreSQL could not be started');
}
