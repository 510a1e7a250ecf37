import { Socket } from 'node:net';

const longestSilenceMs = 20_000;

/**
 * The socket of a connection to PostgreSQL. One that is half open neither answers nor fails, and a query on it would
 * never end.
 *
 * @param silenceMs for so long it may be silent, whether it was asked anything or not
 */
export function openSocket(silenceMs = longestSilenceMs): Socket {
  const socket = new Socket();
  socket.setTimeout(silenceMs, () => {
    socket.destroy(new Error('The connection to PostgreSQL was silent for too long'));
  });
  return socket;
}
