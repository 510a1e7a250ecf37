import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { end, receiveUrl, startMigrated, template } from './postgres-server.ts';

/** A PostgreSQL with a replica that is a second behind, and one address for both. */
export interface ReplicatedPostgres {
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
