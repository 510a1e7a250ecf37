import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
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

const alone = new URL('./postgres-process.ts', import.meta.url);

/** Starts a server with a migrated template. The caller ends it. */
export async function startMigrated(program = alone): Promise<{ owner: ChildProcess; url: string }> {
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

/** A PostgreSQL of a test's own, which it may stop. */
interface OwnPostgres {
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

/** A PostgreSQL with a replica that is a second behind, and one address for both. */
interface ReplicatedPostgres {
  /** Of a database that is migrated. It leads to the server that takes writes. */
  databaseUrl: string;
  /** The server dies, and its replica takes over with what had reached it. */
  failOver(): Promise<void>;
}

export async function openReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const { owner, url } = await startMigrated(new URL('./replicated-postgres-process.ts', import.meta.url));
  onTestFinished(() => end(owner));
  let { port } = new URL(url);
  const sockets = new Set<Socket>();
  const address = createServer((client) => {
    const server = connect(Number(port), '127.0.0.1');
    for (const [from, to] of [[client, server] as const, [server, client] as const]) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => to.destroy());
      from.pipe(to);
    }
  }).listen(0, '127.0.0.1');
  await once(address, 'listening');
  onTestFinished(() => {
    address.close();
    for (const socket of sockets) socket.destroy();
  });
  const databaseUrl = new URL(`${url}${template}`);
  databaseUrl.host = `127.0.0.1:${(address.address() as AddressInfo).port}`;
  return {
    databaseUrl: databaseUrl.href,
    async failOver() {
      const tookOver = receiveUrl(owner);
      owner.send('fail over');
      ({ port } = new URL(await tookOver));
    },
  };
}
