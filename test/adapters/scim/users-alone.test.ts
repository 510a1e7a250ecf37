import { describe, expect, it } from 'vitest';
import type { Person } from '../../../src/adapters/adapter.ts';
import { listAll } from '../../support/list-all.ts';
import { scimAdapter } from '../../support/scim-settings.ts';
import { openScimmy } from '../../support/scimmy-tool.ts';

/** Against SCIMMY, a real server: without groups, and with very many accounts. */

const { signal } = new AbortController();
const email = 'amara@opentrain.work';
const person: Person = { trainerId: 'cmu1', email, displayName: 'Amara', memberId: null };

describe('without groups', () => {
  it('an active account is the membership, and a removal ends it', async () => {
    const tool = await openScimmy();
    const adapter = scimAdapter(tool, { group: null });
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

  it('says what it can do', () => {
    const adapter = scimAdapter({ url: 'https://tool.example', token: 'x' }, { group: null });
    expect(adapter.capabilities).toMatchObject({
      removal: { effect: 'locks_out' },
      readding: 'yes',
      keepingAccount: { removal: { effect: 'membership_only' } },
      exclusive: 'membership',
      invitation: 'none',
    });
  });
});

describe('at a real server', () => {
  it('reads every page', async () => {
    const group = 'street-signs';
    const tool = await openScimmy([group]);
    const ids = Array.from({ length: 230 }, (_, index) => tool.seed({ userName: `${index}@x.example` }, group));
    const listed = await listAll(scimAdapter(tool), group, signal);
    expect(listed.map(({ id }) => id)).toEqual(ids);
    const pages = tool.requests.filter(({ line }) => line.startsWith('GET /Users?'));
    expect(pages.map(({ line }) => line)).toEqual([
      'GET /Users?startIndex=1&count=100',
      'GET /Users?startIndex=101&count=100',
      'GET /Users?startIndex=201&count=100',
    ]);
  });

  it('finds an account that a case-sensitive filter misses', async () => {
    const tool = await openScimmy(['street-signs']);
    const id = tool.seed({ userName: 'AMARA@opentrain.work', active: false });
    const ours = { ...person, isAccountOurs: true };
    const member = await scimAdapter(tool).addMember('street-signs', ours, signal);
    expect(member.id).toBe(id);
    expect(tool.users()).toMatchObject([{ id, active: true }]);
  });
});
