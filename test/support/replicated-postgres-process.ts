import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createEmbedded } from './embedded-server.ts';

/**
 * As `postgres-process.ts`, with a replica that is a second behind. Nothing waits for it: what was committed in the
 * last second has not reached it. Any message has the first server die and the replica take over; the answer
 * is the replica's url.
 */
const behindMs = 1000;

const primary = await createEmbedded();
const link = await openSlowLink(primary.port);
const replica = await createEmbedded({
  settings: [`primary_conninfo=host=127.0.0.1 port=${link.port} user=gangway password=gangway`],
});

let isPrimaryAlive = true;
process.on('message', async () => {
  isPrimaryAlive = false;
  await primary.kill();
  // What is on its way is lost.
  link.cut();
  writeFileSync(path.join(replica.databaseDir, 'promote'), '');
  replica.signal('SIGUSR1');
  await tookOver;
  process.send?.(replica.url);
});

process.once('disconnect', () => void stopAll().finally(() => process.exit()));
await primary.postgres.initialise();
execFileSync('cp', ['-a', `${primary.databaseDir}/.`, replica.databaseDir]);
writeFileSync(path.join(replica.databaseDir, 'standby.signal'), '');
await primary.postgres.start();
/** A server has started when it takes writes. */
const tookOver = replica.postgres.start();
tookOver.catch(() => undefined);
await untilStreaming();
link.slowDown();
process.send?.(primary.url);

/** Before that they say so much to each other that it would take seconds. */
async function untilStreaming(): Promise<void> {
  const client = primary.postgres.getPgClient();
  await client.connect();
  const streaming = "select from pg_stat_replication where state = 'streaming'";
  while ((await client.query(streaming)).rowCount === 0) await wait(20);
  await client.end();
}

async function stopAll(): Promise<void> {
  link.cut();
  await replica.postgres.stop();
  if (isPrimaryAlive) await primary.postgres.stop();
  rmSync(primary.databaseDir, { recursive: true, force: true });
}

interface SlowLink {
  port: number;
  slowDown(): void;
  cut(): void;
}

/** Everything comes through in order, and what the server says a second later. */
async function openSlowLink(serverPort: number): Promise<SlowLink> {
  const sockets = new Set<Socket>();
  let waitMs = 0;
  const listening = createServer((client) => {
    const server = connect(serverPort, '127.0.0.1');
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    client.on('data', (bytes) => server.write(bytes));
    client.on('close', () => server.destroy());
    server.on('data', (bytes) => setTimeout(() => client.write(bytes), waitMs));
    server.on('close', () => client.destroy());
  }).listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return {
    port: (listening.address() as AddressInfo).port,
    slowDown() {
      waitMs = behindMs;
    },
    cut() {
      listening.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
