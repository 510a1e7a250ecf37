import { describe, expect, it } from 'vitest';
import type { Person } from '../../../src/adapters/adapter.ts';
import type { ScimTool } from '../../support/scim-front.ts';
import { scimAdapter } from '../../support/scim-settings.ts';
import { openScimTool } from '../../support/scim-tool.ts';

/** Each is named after what a real server did to a client. */

const { signal } = new AbortController();
const group = 'street-signs';
const email = 'amara@opentrain.work';
const person: Person = { trainerId: 'cmu1', email, displayName: 'Amara O. Lee', memberId: null };

const lines = ({ requests }: ScimTool, method: string) =>
  requests.map(({ line }) => line).filter((line) => line.startsWith(`${method} `));

describe('finding an account', () => {
  it('takes no other account if filters are ignored, and reads all pages once', async () => {
    const tool = await openScimTool({ filter: 'ignored', pageSize: 2 }, [group]);
    for (const name of ['one', 'two', 'three']) tool.seed({ userName: `${name}@x.example` }, group);
    const adapter = scimAdapter(tool);
    expect(await adapter.findMember(group, person, signal)).toBeNull();
    expect(lines(tool, 'GET').filter((line) => line.startsWith('GET /Users'))).toHaveLength(2);
    const { id } = await adapter.addMember(group, person, signal);
    expect(await adapter.findMember(group, person, signal)).toEqual({ id, email });
    expect(tool.members(group)).toHaveLength(4);
  });

  it.each([{ filter: 'refused' }, { config: { filter: { supported: false } }, filter: 'refused' }] as const)(
    'reads all accounts if filters are refused: %j',
    async (dialect) => {
      const tool = await openScimTool({ ...dialect, pageSize: 1 }, ['other', group]);
      tool.seed({ userName: 'stranger@x.example' }, group);
      const id = tool.seed({ userName: email }, group);
      expect(await scimAdapter(tool).findMember(group, person, signal)).toEqual({ id, email });
    },
  );

  it('finds an address among several, with any sign-in name', async () => {
    const tool = await openScimTool({}, [group]);
    const emails = [{ value: 'old@x.example' }, { value: email.toUpperCase(), primary: true }];
    const id = tool.seed({ userName: 'amara', emails }, group);
    const adapter = scimAdapter(tool);
    expect(await adapter.addMember(group, person, signal)).toEqual({
      id,
      email: email.toUpperCase(),
      account: 'found',
    });
    expect(tool.users()).toHaveLength(1);
  });

  it('finds an address in another case if filters are case-sensitive', async () => {
    const tool = await openScimTool({ filter: 'case_exact', pageSize: 1 }, [group]);
    tool.seed({ userName: 'stranger@x.example' });
    const id = tool.seed({ userName: 'Amara@OpenTrain.work' }, group);
    const found = await scimAdapter(tool).findMember(group, person, signal);
    expect(found?.id).toBe(id);
  });

  it('also searches for the address as it is written', async () => {
    const tool = await openScimTool({ filter: 'case_exact' }, [group]);
    const written = 'Amara@opentrain.work';
    const id = tool.seed({ userName: written }, group);
    const adapter = scimAdapter(tool);
    expect((await adapter.findMember(group, { ...person, email: written }, signal))?.id).toBe(id);
    expect(lines(tool, 'GET').filter((line) => line.includes('filter=userName'))).toHaveLength(2);
  });

  it('refuses several accounts with the same address', async () => {
    const tool = await openScimTool({}, [group]);
    for (const userName of ['one', 'two']) tool.seed({ userName, emails: [{ value: email }] });
    await expect(scimAdapter(tool).findMember(group, person, signal)).rejects.toMatchObject({
      code: 'invalid',
      message: '2 accounts of the tool have the address',
    });
  });

  it.each([null, '101'])('does not take a wrong address for an empty tool: id %j', async (memberId) => {
    const tool = await openScimTool({}, [group]);
    const adapter = scimAdapter({ ...tool, url: `${tool.url}/wrong` });
    const finding = adapter.findMember(group, { ...person, memberId }, signal);
    await expect(finding).rejects.toMatchObject({ code: 'not_found', status: 404 });
  });

  it('sends an id as one segment of a path, and a name as text', async () => {
    const tool = await openScimTool({ idIsName: true }, [group]);
    const odd = { ...person, email: 'a"b\\c/d?e+f@opentrain.work' };
    const adapter = scimAdapter(tool);
    const { id } = await adapter.addMember(group, odd, signal);
    expect(await adapter.findMember(group, { ...odd, memberId: id }, signal)).toMatchObject({ id });
    expect(lines(tool, 'GET')).toContain('GET /Users/a"b\\c/d?e+f@opentrain.work');
  });

  it('does not find a member whose account is inactive, even if that is written as text', async () => {
    const tool = await openScimTool({ textBooleans: true }, [group]);
    tool.seed({ userName: email, active: false }, group);
    expect(await scimAdapter(tool).findMember(group, person, signal)).toBeNull();
  });

  it('takes an account without "active" for an active one', async () => {
    const tool = await openScimTool({}, [group]);
    const id = tool.seed({ userName: email, active: undefined }, group);
    expect((await scimAdapter(tool).findMember(group, person, signal))?.id).toBe(id);
  });
});

describe('providing an account', () => {
  it('gives it a name, an address in lower case, and an external id', async () => {
    const tool = await openScimTool({}, [group]);
    await scimAdapter(tool).addMember(group, { ...person, email: 'Amara@OpenTrain.work' }, signal);
    expect(tool.users()).toEqual([
      expect.objectContaining({
        userName: email,
        externalId: 'cmu1',
        displayName: 'Amara O. Lee',
        active: true,
        name: { givenName: 'Amara', familyName: 'O. Lee' },
        emails: [{ value: email, type: 'work', primary: true }],
      }),
    ]);
    expect(JSON.stringify(tool.users())).not.toContain('password');
  });

  it('does not take an account with another address, even with the same external id', async () => {
    const taken = await openScimTool({ takenIds: true }, [group]);
    const other = taken.seed({ userName: 'was@x.example', externalId: 'cmu1' });
    const added = await scimAdapter(taken).addMember(group, person, signal);
    expect(added).toMatchObject({ email, account: 'made' });
    expect(added.id).not.toBe(other);
    expect(taken.members(group)).toEqual([added.id]);
  });

  it('activates no account that it did not make', async () => {
    const tool = await openScimTool({}, [group]);
    const id = tool.seed({ userName: email, active: false });
    const adapter = scimAdapter(tool);
    const added = adapter.addMember(group, { ...person, memberId: id }, signal);
    await expect(added).rejects.toMatchObject({ code: 'conflict' });
    expect(tool.users()).toMatchObject([{ id, active: false }]);
    expect(tool.members(group)).toEqual([]);
  });

  it.each([
    ['by a path', { patch: ['rfc'] }],
    ['without a path, as Okta asks', { patch: ['okta'] }],
    ['whole', { patch: [] }],
    ['by a text, as Entra asked', { patch: ['entra'], putIsRefused: true }],
    ['by whatever does not only nod', { patch: ['okta'], nods: true }],
    ['where booleans are texts', { textBooleans: true }],
  ] as const)('deactivates and activates again %s', async (_how, dialect) => {
    const tool = await openScimTool(dialect, [group]);
    const adapter = scimAdapter(tool);
    const shown = { ...person, othersAdded: [] };
    const member = await adapter.addMember(group, shown, signal);
    await adapter.removeAccount?.(group, member, signal);
    expect(tool.users()[0]?.active).toBe(false);
    expect(await adapter.findMember(group, person, signal)).toBeNull();
    await adapter.addMember(group, { ...shown, isAccountOurs: true }, signal);
    expect(tool.users().map(({ active }) => active)).toEqual([true]);
    expect(await adapter.findMember(group, person, signal)).toMatchObject({ id: member.id, email });
  });

  it('keeps unknown fields of an account that it writes whole', async () => {
    const tool = await openScimTool({ patch: [] }, [group]);
    const extension = { 'urn:example:2.0:User': { desk: 7 }, title: 'Painter' };
    const id = tool.seed({ userName: email, ...extension }, group);
    await scimAdapter(tool).removeAccount?.(group, { id, email }, signal);
    expect(tool.users()).toEqual([{ id, userName: email, ...extension, active: false }]);
  });

  it('makes a new account if a server deletes deactivated accounts', async () => {
    const tool = await openScimTool({ deletesInactive: true }, [group]);
    const adapter = scimAdapter(tool);
    const member = await adapter.addMember(group, person, signal);
    await adapter.removeAccount?.(group, member, signal);
    expect(tool.users()).toEqual([]);
    const again = await adapter.addMember(group, { ...person, memberId: member.id }, signal);
    expect(tool.members(group)).toEqual([again.id]);
  });

  it('says so if no way to deactivate has an effect', async () => {
    const tool = await openScimTool({ patch: [], nods: true, putIsRefused: true }, [group]);
    const id = tool.seed({ userName: email }, group);
    const ending = scimAdapter(tool).removeAccount?.(group, { id, email }, signal);
    await expect(ending).rejects.toMatchObject({ code: 'invalid', status: 405 });
  });
});
