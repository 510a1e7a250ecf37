import { describe, expect, it } from 'vitest';
import type { Person } from '../../../src/adapters/adapter.ts';
import { listAll } from '../../support/list-all.ts';
import type { ScimDialect } from '../../support/scim-dialect.ts';
import { scimAdapter } from '../../support/scim-settings.ts';
import { openScimTool } from '../../support/scim-tool.ts';

const { signal } = new AbortController();
const group = 'street-signs';
const email = 'amara@opentrain.work';
const person: Person = { trainerId: 'cmu1', email, displayName: null, memberId: null };

/** Three members of a group, and a fourth to be removed from it. */
async function openGroup(dialect: ScimDialect, more: object = {}) {
  const tool = await openScimTool(dialect, [group]);
  const others = ['one', 'two', 'three'].map((name) => tool.seed({ userName: name }, group));
  const id = tool.seed({ userName: email }, group);
  const adapter = scimAdapter(tool, more);
  const remove = () => adapter.removeMember(group, { id, email }, signal);
  const changes = () => tool.requests.flatMap(({ line, body }) => (line.startsWith('P') ? [{ line, body }] : []));
  return { ...tool, adapter, id, others, remove, changes };
}

describe('removing a member from a group', () => {
  it.each([
    ['by the path of one member', {}, ['PATCH']],
    ['as Entra asks, where the path is refused', { patch: ['entra'] }, ['PATCH', 'PATCH']],
    ['whole, where PATCH is refused', { patch: [] }, ['PATCH', 'PATCH', 'PUT']],
    ['whole, where there is no PATCH', { patch: [], config: { patch: { supported: false } } }, ['PUT']],
  ] as const)('is done %s', async (_how, dialect, methods) => {
    const tool = await openGroup(dialect);
    await tool.remove();
    expect(tool.members(group)).toEqual(tool.others);
    expect(tool.changes().map(({ line }) => line.split(' ')[0])).toEqual(methods);
  });

  it('does not send the form without a path if the path was accepted, because strict servers remove all members', async () => {
    const tool = await openGroup({ patch: ['entra'], removesAll: true, nods: true });
    await tool.remove();
    expect(tool.members(group)).toEqual(tool.others);
    expect(tool.changes().map(({ line }) => line.split(' ')[0])).toEqual(['PATCH', 'PUT']);
  });

  it('adds the others again if a server removed all members, says so, and does not use that form again', async () => {
    const tool = await openGroup({ patch: ['entra'], removesAll: true });
    await expect(tool.remove()).rejects.toMatchObject({
      code: 'internal',
      message: 'When one member was removed from a group, the tool removed others: 3 were put back',
    });
    expect(tool.members(group)).toEqual(tool.others);
    expect(await tool.adapter.findMember(group, { ...person, memberId: tool.id }, signal)).toBeNull();

    const before = tool.changes().length;
    const [other = ''] = tool.others;
    await tool.adapter.removeMember(group, { id: other, email: null }, signal);
    expect(tool.members(group)).toEqual(tool.others.slice(1));
    const after = tool.changes().slice(before);
    expect(after.map(({ line }) => line.split(' ')[0])).toEqual(['PATCH', 'PUT']);
  });

  it('says how many are missing if they cannot be added again', async () => {
    const tool = await openGroup({
      patch: ['entra'],
      removesAll: true,
      addsNoMember: true,
      putIsRefused: true,
    });
    await expect(tool.remove()).rejects.toMatchObject({
      code: 'internal',
      message:
        'When one member was removed from a group, the tool removed others: 3 may be missing; run gangway reconcile',
    });
  });

  it('removes a member whom the group lists twice', async () => {
    const tool = await openGroup({ keepsDuplicates: true });
    tool.seedMember(group, tool.id);
    await tool.remove();
    expect(tool.members(group)).toEqual(tool.others);
  });

  it('keeps unknown fields and nested groups of a group that it writes whole', async () => {
    const tool = await openGroup({ patch: [] });
    const nested = { value: '999', type: 'Group', display: 'inner' };
    Object.assign(tool.group(group) ?? {}, { 'urn:example:Group': { colour: 'red' } });
    tool.seedMember(group, nested);
    await tool.remove();
    expect(tool.members(group)).toEqual([...tool.others, '999']);
    expect(tool.group(group)).toMatchObject({ 'urn:example:Group': { colour: 'red' } });
    const listed = await listAll(tool.adapter, group, signal);
    expect(listed.map(({ id }) => id)).toEqual(tool.others);
  });

  it('does not change the account if the settings say so', async () => {
    const tool = await openGroup({}, { offboarding: 'group' });
    await tool.remove();
    expect(tool.users().map(({ active }) => active)).toEqual([true, true, true, true]);
    expect(tool.adapter.removeAccount).toBeUndefined();
    expect(tool.adapter.capabilities.removal).toEqual({
      effect: 'membership_only',
      reason: 'their account stays active; only their membership of the group ends',
    });
  });

  it('deactivates the account first, even if a later call fails', async () => {
    const tool = await openGroup({ patch: ['okta'], putIsRefused: true });
    const member = { id: tool.id, email };
    await expect(tool.adapter.removeAccount?.(group, member, signal)).rejects.toThrow('400');
    expect(tool.users().at(-1)?.active).toBe(false);
  });
});

describe('adding a member to a group', () => {
  it('adds no member twice, although the server would', async () => {
    const tool = await openScimTool({ keepsDuplicates: true }, [group]);
    const adapter = scimAdapter(tool);
    const { id } = await adapter.addMember(group, person, signal);
    await adapter.addMember(group, person, signal);
    expect(tool.members(group)).toEqual([id]);
  });

  it('creates the group with the member in it, if allowed', async () => {
    const tool = await openScimTool();
    const { id } = await scimAdapter(tool).addMember(group, person, signal);
    expect(tool.members(group)).toEqual([id]);
    expect(tool.requests.filter(({ line }) => line.startsWith('PATCH'))).toEqual([]);
  });

  it.each([
    [
      'must not be created, and names it',
      ['Street-Signs'],
      { createGroups: false },
      'The tool has no group "street-signs": create it there, or set "createGroups": true',
    ],
    [
      'has another case, because it may belong to another customer',
      ['Street-Signs'],
      {},
      'Could not create the group: the tool says that it exists; its name may differ from "street-signs" in case',
    ],
    ['has the same name as another', [group, group], {}, '2 groups of the tool are called "street-signs"'],
  ])('refuses a group that %s', async (_what, groups, settings, message) => {
    const tool = await openScimTool({}, groups);
    const code = message.startsWith('Could not') ? 'conflict' : 'invalid';
    await expect(scimAdapter(tool, settings).addMember(group, person, signal)).rejects.toMatchObject({ code, message });
    expect(groups.flatMap((name) => tool.members(name))).toEqual([]);
  });

  it('finds a group that was deleted and created again', async () => {
    const tool = await openScimTool({}, [group]);
    const adapter = scimAdapter(tool);
    await adapter.addMember(group, person, signal);
    tool.remakeGroup(group);
    expect(await adapter.findMember(group, person, signal)).toBeNull();
    const { id } = await adapter.addMember(group, person, signal);
    expect(tool.members(group)).toEqual([id]);
  });

  it('finds groups by their present name after a rename', async () => {
    const tool = await openGroup({});
    expect(await tool.adapter.findMember(group, person, signal)).not.toBeNull();
    Object.assign(tool.group(group) ?? {}, { displayName: 'another' });
    expect(await tool.adapter.findMember(group, person, signal)).toBeNull();
  });

  it('does not write a group whose members were never shown, because that would replace them', async () => {
    const tool = await openGroup({ patch: [], showsMembers: 'never' });
    const newcomer = { ...person, email: 'new@opentrain.work' };
    await expect(tool.adapter.addMember(group, newcomer, signal)).rejects.toThrow(
      'Gangway does not write the whole group, because its list does not show the members that Gangway added',
    );
    expect(tool.members(group)).toEqual([...tool.others, tool.id]);
  });

  it('is trusted only once the group shows it, and is requested only once', async () => {
    const tool = await openScimTool({ addsNoMember: true }, [group]);
    const adapter = scimAdapter(tool);
    const { id } = await adapter.addMember(group, person, signal);
    expect(await adapter.findMember(group, { ...person, memberId: id }, signal)).toBeNull();
    expect(tool.requests.filter(({ line }) => line.startsWith('P') && line.includes('/Groups'))).toHaveLength(1);
  });

  it('uses one group for all projects if its name has no placeholder', async () => {
    const tool = await openScimTool({}, ['Trainers']);
    const adapter = scimAdapter(tool, { group: 'Trainers' });
    const name = adapter.groupFor({ externalProjectId: 'street-signs', externalProjectName: null });
    expect(name).toBe('Trainers');
    const { id } = await adapter.addMember(name, person, signal);
    expect(tool.members('Trainers')).toEqual([id]);
  });

  it('puts the project into the name unchanged', () => {
    const adapter = scimAdapter({ url: 'https://tool.example', token: 'x' }, { group: 'p {externalProjectId}' });
    const link = { externalProjectId: "$& {externalProjectId} $'", externalProjectName: null };
    expect(adapter.groupFor(link)).toBe("p $& {externalProjectId} $'");
  });
});

describe('writing', () => {
  it('uses the other content type from then on if one is refused', async () => {
    const tool = await openScimTool({ takesOnly: 'application/json' }, [group]);
    const adapter = scimAdapter(tool);
    await adapter.addMember(group, person, signal);
    const labels = tool.requests.map(({ headers }) => headers['content-type']);
    expect(labels.filter((label) => label !== undefined)).toEqual([
      'application/scim+json',
      'application/json',
      'application/json',
    ]);
  });

  it('names the version if the settings say so, and fails for a retry if the group has changed', async () => {
    const tool = await openScimTool({ hasVersions: true, patch: [] }, [group]);
    const adapter = scimAdapter(tool, { ifMatch: true });
    const { id } = await adapter.addMember(group, { ...person, othersAdded: [] }, signal);
    expect(tool.members(group)).toEqual([id]);
    const unversioned = scimAdapter(tool);
    await expect(unversioned.removeMember(group, { id, email }, signal)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'Could not remove the member: another program changed it at the same moment',
    });
  });
});
