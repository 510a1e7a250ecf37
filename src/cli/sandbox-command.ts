import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { AppError } from '../domain/errors.ts';
import { stripControl } from '../lib/text.ts';
import { type FaultOptions, toFaults } from './sandbox-fault-options.ts';
import type { Session, Terminal } from './session.ts';

interface RunOptions extends FaultOptions {
  port: number;
  timeScale: number;
  seed: string | undefined;
  json: boolean;
}

/** `gangway sandbox`: runs a simulated marketplace until it is stopped. */
export async function runSandbox(options: RunOptions, { terminal }: Session): Promise<undefined> {
  const { port, timeScale, json, seed = randomUUID() } = options;
  const faults = toFaults(options);
  // The commands that only ask a running sandbox load this file too.
  const { createSandbox } = await import('../sandbox/sandbox.ts');
  const sandbox = createSandbox({ port, timeScale, seed, ...(faults && { faults }) });
  const address = await sandbox.start();
  const { installId, token } = sandbox.createInstall();
  const { id: jobId, title } = sandbox.createJob({ installId });
  const lines = [
    `Sandbox marketplace on ${address.url}`,
    `  platform API  ${address.baseUrl}`,
    `  employer API  ${address.employerBaseUrl}`,
    `  seed          ${seed}`,
    `  token         ${token}`,
    `  install       ${installId}`,
    `  job           ${jobId} (${title})`,
    'Connect it, in another terminal:',
    `  gangway init --public-url http://127.0.0.1:8787 --marketplace-url ${address.url}`,
    `  GANGWAY_CONNECT_TOKEN=${token} gangway connect acme`,
    `  gangway links add street-signs --job ${jobId}`,
    '  gangway start',
    `Hire a trainer with: gangway sandbox hire --url ${address.url}`,
    `If you hire with your own account, begin with: gangway sandbox account --url ${address.url}`,
  ];
  const data = { ...address, seed, installId, token, jobId };
  terminal.stdout.write(`${json ? JSON.stringify(data) : lines.map(stripControl).join('\n')}\n`);
  if (!terminal.signal.aborted) await once(terminal.signal, 'abort');
  await sandbox.stop();
}

/** Sends a request to a running sandbox: with a body to change something, without one to read. */
export async function askSandbox<T>({ signal }: Terminal, url: string, path: string, body?: object): Promise<T> {
  const response = await fetch(new URL(`/sandbox${path}`, url), {
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutMs)]),
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    const message = `No sandbox answers at ${url}; start one with: gangway sandbox`;
    throw new AppError('unavailable', message, { cause: error });
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer as T;
  throw toRefusal(url, response.status, answer);
}

const answerTimeoutMs = 10_000;

function toRefusal(url: string, status: number, answer: unknown): AppError {
  if (typeof answer === 'object' && answer !== null && 'error' in answer) {
    const code = status === 404 ? 'not_found' : 'invalid';
    return new AppError(code, `The sandbox refused: ${stripControl(String(answer.error))}`);
  }
  return new AppError('unavailable', `What answers at ${url} is not a sandbox (HTTP ${status})`);
}
