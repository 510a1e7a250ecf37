import { expect, it } from 'vitest';
import type { Person } from '../../../src/adapters/adapter.ts';
import { listAll } from '../../support/list-all.ts';
import { scimAdapter } from '../../support/scim-settings.ts';
import { openScimmy } from '../../support/scimmy-tool.ts';

const { signal } = new AbortController();
const email = 'amara@opentrain.work';
const person: Person = { trainerId: 'cmu1', email, displayName: 'Amara', memberId: null };

it('without groups, an active account is the membership, and a removal ends it', async () => {
  const tool = await openScimmy();
  const adapter = scimAdapter(tool, { group: null });
  expect(adapter.capabilities).toMatchObject({
    removal: { effect: 'locks_out' },
    readding: 'yes',
    keepingAccount: { removal: { effect: 'membership_only' } },
    exclusive: 'membership',
    invitation: 'none',
  });
  const users = adapter.groupFor({ externalProjectId: 'any', externalProjectName: null });
  expect(adapter.groupFor({ externalProjectId: 'other', externalProjectName: null })).toBe(users);
  expect(await adapter.findMember(users, person, signal)).toBeNull();

  const { account, ...member } = await adapter.addMember(users, person, signal);
  expect(account).toBe('made');
  expect(await adapter.findMember(users, person, signal)).toEqual(member);
  expect(await listAll(adapter, users, signal)).toEqual([member]);

  // Only the account could be ended.
  await expect(adapter.removeMember(users, member, signal)).rejects.toMatchObject({
    code: 'conflict',
  });
  for (const _ of [1, 2]) await adapter.removeAccount?.(users, member, signal);
  await adapter.removeMember(users, member, signal);
  await adapter.removeMember(users, { id: 'unknown', email: null }, signal);
  expect(tool.users().map(({ active }) => active)).toEqual([false]);
  expect(await adapter.findMember(users, { ...person, memberId: member.id }, signal)).toBeNull();
  expect(await listAll(adapter, users, signal)).toEqual([]);

  const known = { ...person, isAccountOurs: true };
  expect(await adapter.addMember(users, known, signal)).toMatchObject({ id: member.id });
  expect(await adapter.check(signal)).toEqual([]);
  expect(tool.requests.filter(({ line }) => line.includes('/Groups'))).toEqual([]);
});
