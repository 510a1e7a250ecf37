import pRetry from 'p-retry';
import { type AppError, isTransient, toAppError } from '../domain/errors.ts';

interface RetryOptions {
  /** All attempts, including the first. */
  attempts: number;
  firstWaitMs: number;
  maxWaitMs: number;
  signal?: AbortSignal | undefined;
  /** By default `isTransient`. */
  isWorthRetrying?: (error: AppError) => boolean;
}

/** Retries within seconds, in the process, with exponential waits and full jitter. Longer failures need a durable back-off. */
export async function retry<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const isWorthRetrying = options.isWorthRetrying ?? isTransient;
  return await pRetry(
    async () => {
      try {
        return await attempt();
      } catch (error) {
        throw toAppError(error);
      }
    },
    {
      retries: options.attempts - 1,
      minTimeout: options.firstWaitMs,
      maxTimeout: options.maxWaitMs,
      randomize: true,
      signal: options.signal,
      shouldRetry: ({ error }) => isWorthRetrying(toAppError(error)),
    },
  );
}

const firstWaitMs = 1000;
const longestWaitMs = 3_600_000;

/**
 * How many milliseconds to wait after this many failures: exponential with full jitter, at most an hour, and never less than
 * the other system asked for.
 */
export function backoffMs(attempts: number, retryAfterMs = 0, random = Math.random): number {
  const ceiling = Math.min(firstWaitMs * 2 ** attempts, longestWaitMs);
  return Math.max(retryAfterMs, Math.round(random() * ceiling));
}
