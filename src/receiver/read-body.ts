import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';

export type ReadBody =
  | { outcome: 'read'; body: Buffer }
  | { outcome: 'too_large' }
  | { outcome: 'no_room' }
  | { outcome: 'broken_off' };

/** What a piece costs beside its bytes: a body that is sent byte by byte is mostly that. */
const pieceBytes = 256;

/**
 * Reads a body whole, and asks for room for each piece as it arrives: what a header announces costs
 * its sender nothing. A body that is not read to its end is left where it is.
 */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
  hasRoom: (bytes: number) => boolean,
): Promise<ReadBody> {
  const onData = (piece: Buffer) => {
    if (!hasRoom(piece.length + pieceBytes)) request.emit('error', new NoRoom());
  };
  request.on('data', onData);
  try {
    const length = request.headers['content-length'] ?? null;
    return { outcome: 'read', body: await getRawBody(request, { length, limit: maxBytes }) };
  } catch (error) {
    if (error instanceof NoRoom) return { outcome: 'no_room' };
    const isTooLarge = (error as { type?: unknown }).type === 'entity.too.large';
    return { outcome: isTooLarge ? 'too_large' : 'broken_off' };
  } finally {
    request.off('data', onData);
  }
}

class NoRoom extends Error {
  override readonly message = 'too many bytes are under way';
}
