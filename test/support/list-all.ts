import type { Adapter, Member } from '../../src/adapters/adapter.ts';

/** All members that an adapter lists. */
export async function listAll(adapter: Adapter, group: string, signal: AbortSignal): Promise<Member[]> {
  const members: Member[] = [];
  for await (const member of adapter.listMembers?.(group, signal) ?? []) members.push(member);
  return members;
}
