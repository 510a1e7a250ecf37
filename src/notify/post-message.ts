import { AppError, isTransient } from '../domain/errors.ts';
import { requestJson } from '../lib/http-client.ts';
import type { MessageResult } from './channel.ts';

export interface Post {
  url: string;
  headers?: Record<string, string>;
  body: object;
  /** For the whole request. */
  timeoutMs: number;
}

export const longestPostMs = 15_000;
/** Only the status of an answer is needed. */
const maxBytes = 64 * 1024;
const goneStatus = 410;

/**
 * Sends one POST. Only the status of the answer is passed on: the rest may quote the URL. An answer that begins with
 * success is a success even if the rest is too long or breaks off, but it must end within the time-out.
 */
export async function postMessage(post: Post, signal: AbortSignal): Promise<MessageResult> {
  let answered: number | undefined;
  try {
    await requestJson({
      ...post,
      method: 'POST',
      purpose: 'send a notice',
      isAnswerIgnored: true,
      signal,
      maxBytes,
      onHeaders(_, status) {
        answered = status;
      },
    });
    return { outcome: 'sent' };
  } catch (error) {
    return toSent(error, answered, post.timeoutMs);
  }
}

function toSent(error: unknown, answered: number | undefined, timeoutMs: number): MessageResult {
  if (!(error instanceof AppError)) return { outcome: 'refused', failure: 'it cannot be sent' };
  if (answered === undefined) return { outcome: 'deferred', failure: error.message };
  if (isTimeout(error)) {
    return { outcome: 'deferred', failure: `answered ${answered}, but not in full within ${timeoutMs} ms` };
  }
  if (answered >= 200 && answered < 300) return { outcome: 'sent' };
  const failure = `answered ${answered}`;
  if (answered === goneStatus) return { outcome: 'gone', failure };
  if (isWorthRetrying(answered, error)) {
    return { outcome: 'deferred', failure, retryAfterMs: error.retryAfterMs };
  }
  return { outcome: 'refused', failure };
}

function isTimeout({ cause }: AppError): boolean {
  return cause instanceof DOMException && cause.name === 'TimeoutError';
}

/** Also where the body of a 503 broke off, or was too long. */
function isWorthRetrying(status: number, error: AppError): boolean {
  return status >= 500 || isTransient(error);
}
