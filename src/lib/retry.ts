import pRetry from 'p-retry';
import { type AppError, isTransient, toAppError } from '../domain/errors.ts';

interface RetryOptions {
  /** Tries in all, the first included. */
  attempts: number;
  firstWaitMs: number;
  maxWaitMs: number;
  signal?: AbortSignal | undefined;
  /** Which failures are worth another try; those that `isTransient` says, unless told. */
  isWorthRetrying?: (error: AppError) => boolean;
}

/**
 * Tries again within seconds, in process, with exponential waits and full jitter. What is still
 * failing after that belongs to a durable back-off.
 */
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
