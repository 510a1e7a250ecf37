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
 * All members of a group, each once. Half a list is none: whoever is on no page that could not be
 * read would look as if they were missing.
 *
 * @throws AppError where any of it could not be read in time, or where there are too many
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
      // Given up already, where the adapter does not listen: this has it stop.
      callSignal.throwIfAborted();
      members.set(member.id, member);
      if (members.size > maxMembers) {
        throw new AppError('invalid', `The group has more than ${maxMembers} members`);
      }
    }
    return [...members.values()];
  });
}
