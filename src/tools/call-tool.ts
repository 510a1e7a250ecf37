import { AppError } from '../domain/errors.ts';
import { createDeadline, type Deadline } from '../lib/clock.ts';

/**
 * Makes one call with a time limit. When the time is up, or the engine stops, it gives up the call even if the adapter
 * ignores its signal.
 *
 * @throws AppError `unavailable` if it took too long
 */
export async function callTool<T>(
  timeoutMs: number,
  stopping: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = createDeadline(timeoutMs, stopping);
  const { signal } = deadline;
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(toGivenUp(deadline, timeoutMs));
  try {
    signal.throwIfAborted();
    signal.addEventListener('abort', giveUp, { once: true });
    return await Promise.race([call(signal), ended]);
  } catch (error) {
    throw deadline.hasPassed() ? toGivenUp(deadline, timeoutMs, error) : error;
  } finally {
    signal.removeEventListener('abort', giveUp);
    deadline.clear();
  }
}

function toGivenUp(deadline: Deadline, timeoutMs: number, cause?: unknown): AppError {
  const why = deadline.hasPassed() ? `did not answer within ${timeoutMs} ms` : 'was given up, because Gangway stops';
  return new AppError('unavailable', `The tool ${why}`, { cause });
}
