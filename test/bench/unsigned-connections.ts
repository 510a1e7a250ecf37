import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Memory } from './receive-server.ts';

/**
 * `npm run bench:unsigned`: the memory that strangers can take.
 *
 * Many connections at once, each with a body of 256 KiB that is sent but for its last byte, and
 * held open: without a signature, and with one that looks right and that no secret made. Gangway is
 * a process of its own; its resident memory is read before, and while they are held.
 */
const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '8' },
    folder: { type: 'string', default: '.' },
  },
});
const connections = Number(values.connections);
const heldMs = Number(values.seconds) * 1000;
const bodyBytes = 256 * 1024;
const sampleMs = 50;
/** How many connections are begun at once: fewer than a listener lets wait. */
const stride = 100;

const folder = mkdtempSync(path.join(path.resolve(values.folder), '.bench-'));
try {
  say(`${connections} connections, 256 KiB each, held for ${values.seconds} s`);
  say('signature                    before       peak    answers');
  await measure('none', () => []);
  await measure('well-formed, of no secret', () => [
    `X-OpenTrain-Signature: t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}`,
  ]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(name: string, headers: () => string[]): Promise<void> {
  const { server, port } = await startServer(name.replaceAll(/\W+/g, '-'));
  const before = await residentBytes(server);
  const sockets = new Set<Socket>();
  const answers = new Map<string, number>();
  const endAt = performance.now() + heldMs;
  let peak = before;
  const sampling = (async () => {
    while (performance.now() < endAt) {
      peak = Math.max(peak, await residentBytes(server));
      await wait(sampleMs);
    }
  })();
  for (let begun = 0; begun < connections && performance.now() < endAt; begun += 1) {
    sockets.add(openHalfSent(port, headers(), answers));
    if (begun % stride === stride - 1) await wait(1);
  }
  await sampling;
  for (const socket of sockets) socket.destroy();
  server.disconnect();
  await once(server, 'exit');
  const counts = [...answers].map(([answer, count]) => `${count} × ${answer}`).join(', ');
  say(`${name.padEnd(25)} ${toText(before)} ${toText(peak)}    ${counts || 'none'}`);
}

/** Sends all but the last byte of its body, and stays. */
function openHalfSent(port: number, headers: string[], answers: Map<string, number>): Socket {
  const count = (answer: string) => answers.set(answer, (answers.get(answer) ?? 0) + 1);
  const socket = connect({ port, host: '127.0.0.1' });
  const head = [
    'POST /webhooks/acme HTTP/1.1',
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    ...headers,
    `Content-Length: ${bodyBytes}`,
  ].join('\r\n');
  socket.once('data', (answer) => count(answer.toString('latin1').split(' ', 2)[1] ?? ''));
  socket.on('error', (error: NodeJS.ErrnoException) => count(error.code ?? error.name));
  socket.write(`${head}\r\n\r\n`);
  socket.write(Buffer.alloc(bodyBytes - 1, ' '));
  return socket;
}

async function startServer(name: string): Promise<{ server: ChildProcess; port: number }> {
  const file = path.join(import.meta.dirname, 'receive-server.ts');
  const url = `sqlite:${path.join(folder, `${name}.db`)}`;
  const stdio = ['ignore', 2, 2, 'ipc'] as const;
  const server = fork(file, ['gangway', 'whsec_bench', url], { stdio: [...stdio] });
  const [{ port }] = (await once(server, 'message')) as [{ port: number }];
  await wait(1000);
  return { server, port };
}

async function residentBytes(server: ChildProcess): Promise<number> {
  server.send('memory');
  const [{ residentBytes: bytes }] = (await once(server, 'message')) as [Memory];
  return bytes;
}

function toText(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`.padStart(10);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
