import { AppError } from '../domain/errors.ts';
import { stripControl } from '../lib/text.ts';
import type { Terminal } from './terminal.ts';

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
