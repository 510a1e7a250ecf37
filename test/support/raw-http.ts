import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** A connection that sends any bytes, whether they are HTTP or not. */
export async function openSocket(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Sends bytes and gives all that comes back until the server closes. */
export async function exchange(port: number, ...parts: (string | Uint8Array)[]): Promise<string> {
  const socket = await openSocket(port);
  for (const part of parts) socket.write(part);
  return await text(socket);
}

/** The beginning of a request, up to and with the empty line. */
export function requestHead(line: string, headers: Record<string, string | number | readonly string[]>): string {
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}`));
  return [`${line} HTTP/1.1`, 'Host: 127.0.0.1', ...lines, '', ''].join('\r\n');
}

/** The answer to a request that is sent unchanged, which HTTP clients do not do. */
export async function askRaw(url: string, line: string, headers: Record<string, string> = {}): Promise<string> {
  const lines = Object.entries({ host: '127.0.0.1', connection: 'close', ...headers });
  const head = [`${line} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n');
  return await exchange(Number(new URL(url).port), head);
}

export function statusOf(response: string): number {
  return Number(response.split(' ', 2)[1]);
}
