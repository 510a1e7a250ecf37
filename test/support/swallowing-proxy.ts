import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Stands before a server. What it swallows neither arrives nor fails: such a connection is half open. */
export interface SwallowingProxy {
  /** The url of the server, by way of the proxy. */
  url: string;
  /** From now on nothing comes through, in either direction. */
  swallow(): void;
  /** New connections come through again. Those that there were stay as they are for ever. */
  passNew(): void;
}

export async function openSwallowingProxy(serverUrl: string): Promise<SwallowingProxy> {
  const { hostname, port } = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let isPassing = true;

  function passOn(from: Socket, to: Socket, isOpen: () => boolean): void {
    sockets.add(from);
    from.on('data', (bytes) => void (isOpen() && to.write(bytes)));
    from.on('error', () => undefined);
    from.on('close', () => void (isOpen() && to.destroy()));
  }

  let generation = 0;
  const proxy = createServer((client) => {
    const born = generation;
    const isOpen = () => isPassing && born === generation;
    const server = connect(Number(port), hostname);
    passOn(client, server, isOpen);
    passOn(server, client, isOpen);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.close();
    for (const socket of sockets) socket.destroy();
  });
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return {
    url: url.href,
    swallow() {
      isPassing = false;
    },
    passNew() {
      generation += 1;
      isPassing = true;
    },
  };
}
