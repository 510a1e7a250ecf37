import type { IncomingMessage } from 'node:http';

export type ReadBody =
  | { outcome: 'read'; body: Buffer }
  | { outcome: 'too_large' }
  | { outcome: 'no_room' }
  | { outcome: 'broken_off' };

/**
 * Reads a body whole, and asks for room for each piece as it arrives: what a header announces costs
 * its sender nothing. A body that is not read to its end is left where it is.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  hasRoom: (bytes: number) => boolean,
): Promise<ReadBody> {
  return new Promise((resolve) => {
    const gathered = createGathered(maxBytes);

    function settle(result: ReadBody): void {
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      request.pause();
      resolve(result);
    }
    function onData(piece: Buffer): void {
      if (gathered.length() + piece.length > maxBytes) settle({ outcome: 'too_large' });
      else if (!hasRoom(piece.length)) settle({ outcome: 'no_room' });
      else gathered.add(piece);
    }
    const onEnd = () => settle({ outcome: 'read', body: gathered.whole() });
    const onClose = () => settle({ outcome: 'broken_off' });
    request.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}

/** In one piece: a body sent byte by byte would otherwise weigh a hundred times what it is. */
function createGathered(maxBytes: number) {
  let buffer: Buffer = Buffer.alloc(0);
  let length = 0;
  return {
    length: () => length,
    add(piece: Buffer) {
      const end = length + piece.length;
      // Mostly there is one piece, and it is kept as it came.
      if (length === 0) buffer = piece;
      else if (end <= buffer.length) piece.copy(buffer, length);
      else buffer = joinRoomily(buffer.subarray(0, length), piece, maxBytes);
      length = end;
    },
    whole: () => buffer.subarray(0, length),
  };
}

/** With room for as much again, so that not every piece has all before it copied. */
function joinRoomily(before: Buffer, piece: Buffer, maxBytes: number): Buffer {
  const length = before.length + piece.length;
  return Buffer.concat([before, piece], Math.min(2 * length, maxBytes));
}
