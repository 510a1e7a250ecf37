import type { Adapter, Member } from '../adapters/adapter.ts';
import { AppError } from '../domain/errors.ts';
import { createDeadline, type Deadline, unlessAborted } from '../lib/clock.ts';

/**
 * Makes one call with a time limit. When the time is up or Gangway stops, the call is given up even if the adapter ignores
 * its signal.
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
  try {
    signal.throwIfAborted();
    return await unlessAborted(call(signal), signal, () => toGivenUp(deadline, timeoutMs));
  } catch (error) {
    throw deadline.hasPassed() ? toGivenUp(deadline, timeoutMs, error) : error;
  } finally {
    deadline.clear();
  }
}

function toGivenUp(deadline: Deadline, timeoutMs: number, cause?: unknown): AppError {
  const why = deadline.hasPassed() ? `The tool did not answer within ${timeoutMs} ms` : 'Gangway is stopping';
  return new AppError('unavailable', why, { cause });
}

export type ListMembers = NonNullable<Adapter['listMembers']>;

interface ListingLimits {
  /** How long all pages together may take. */
  timeoutMs: number;
  maxMembers: number;
}

/**
 * All members of a group, each once. An incomplete list is an error, because the members on missing pages would seem to
 * have left.
 *
 * @throws AppError if a page could not be read in time, or if there are too many members
 */
export async function readGroup(
  listMembers: ListMembers,
  groupId: string,
  { timeoutMs, maxMembers }: ListingLimits,
  signal: AbortSignal,
): Promise<Member[]> {
  return await callTool(timeoutMs, signal, async (callSignal) => {
    const members = new Map<string, Member>();
    for await (const member of listMembers(groupId, callSignal)) {
      // Stops an adapter that ignores the signal.
      callSignal.throwIfAborted();
      members.set(member.id, member);
      if (members.size > maxMembers) {
        throw new AppError('invalid', `The group has more than ${maxMembers} members`);
      }
    }
    return [...members.values()];
  });
}
