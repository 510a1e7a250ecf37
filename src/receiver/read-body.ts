import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';

export type ReadBody =
  | { outcome: 'read'; body: Buffer }
  | { outcome: 'too_large' }
  | { outcome: 'no_room' }
  | { outcome: 'broken_off' };

/** What a chunk costs beside its bytes. A body that is sent byte by byte costs mostly this. */
const pieceBytes = 256;

/**
 * Reads a whole body and asks for room for each chunk when it arrives, because the announced length
 * costs a sender nothing. A body that is refused is not read to its end.
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
