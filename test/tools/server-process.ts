import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

export interface ServerProcess {
  /** The last 100,000 characters of its output. */
  output(): string;
  stop(): Promise<void>;
  /** Kills it like a power cut, and resolves when it is gone. */
  kill(): Promise<void>;
}

export interface ServerOptions {
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  /** The server has started when this URL answers with a status below 500. */
  readyUrl: string;
  /** How long that may take. Milliseconds. */
  timeoutMs: number;
}

const lookEveryMs = 250;
const longestStopMs = 10_000;
const keptChars = 100_000;

/** Starts a server in its own process group, and waits until it answers. */
export async function startServer(options: ServerOptions): Promise<ServerProcess> {
  const { command, args, env, readyUrl, timeoutMs } = options;
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'], ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-keptChars);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const exited = once(child, 'exit');

  const isGone = () => child.exitCode !== null || child.signalCode !== null;

  async function stop(): Promise<void> {
    if (isGone() || child.pid === undefined) return;
    // The process group, because such servers start workers.
    process.kill(-child.pid, 'SIGTERM');
    const isLate = await Promise.race([exited.then(() => false), wait(longestStopMs, true)]);
    if (isLate) process.kill(-child.pid, 'SIGKILL');
  }

  async function kill(): Promise<void> {
    if (isGone() || child.pid === undefined) return;
    process.kill(-child.pid, 'SIGKILL');
    await exited;
  }

  const deadline = Date.now() + timeoutMs;
  while (!(await answers(readyUrl))) {
    if (!isGone() && Date.now() < deadline) {
      await wait(lookEveryMs);
      continue;
    }
    await stop();
    throw new Error(`${command} did not start:\n${output.slice(-4000)}`);
  }
  return { output: () => output, stop, kill };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(5000) })).status < 500;
  } catch {
    return false;
  }
}

/** A port that nothing listens on right now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
