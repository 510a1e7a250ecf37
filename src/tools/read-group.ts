import type { Adapter, Member } from '../adapters/adapter.ts';
import { AppError } from '../domain/errors.ts';
import { callTool } from './call-tool.ts';

export type ListMembers = NonNullable<Adapter['listMembers']>;

export interface ListingLimits {
  /** How long all pages together may take. */
  timeoutMs: number;
  maxMembers: number;
}

/**
 * All members of a group, each once. An incomplete list is refused, because members on the missing pages would look as
 * if they had left.
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
      // The call was given up. This stops an adapter that ignores the signal.
      callSignal.throwIfAborted();
      members.set(member.id, member);
      if (members.size > maxMembers) {
        throw new AppError('invalid', `The group has more than ${maxMembers} members`);
      }
    }
    return [...members.values()];
  });
}
