import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** So many may come in the moment before others are closed; more than that are sent away. */
const spare = 64;

/**
 * Keeps at most `maxConnections` open. For one more, those that lie idle are closed, and where none
 * does, the one that has been open for longest: nobody keeps others out by holding on to what they
 * have.
 */
export function boundConnections(server: Server, maxConnections: number): void {
  /** In the order they came. */
  const open = new Set<Socket>();
  server.maxConnections = maxConnections + spare;
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size > maxConnections) makeRoom(server, open, maxConnections);
  });
}

/** What is closed is among the open for a moment still. */
function makeRoom(server: Server, open: ReadonlySet<Socket>, maxConnections: number): void {
  server.closeIdleConnections();
  const staying = [...open].filter(({ destroyed }) => !destroyed);
  for (const socket of staying.slice(0, Math.max(0, staying.length - maxConnections))) {
    socket.destroy();
  }
}
