import { AppError } from '../domain/errors.ts';

/**
 * Makes one call with an end: when the time is up, or the engine stops, the call is given up even
 * where the adapter does not listen to its signal.
 *
 * @throws AppError `unavailable` when it took too long
 */
export async function callTool<T>(
  timeoutMs: number,
  stopping: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([stopping, timeout]);
  signal.throwIfAborted();
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(toGivenUp(timeout, timeoutMs));
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([call(signal), ended]);
  } catch (error) {
    throw timeout.aborted ? toGivenUp(timeout, timeoutMs, error) : error;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

function toGivenUp(timeout: AbortSignal, timeoutMs: number, cause?: unknown): AppError {
  const why = timeout.aborted ? `did not answer within ${timeoutMs} ms` : 'was left: stopping';
  return new AppError('unavailable', `The tool ${why}`, { cause });
}
