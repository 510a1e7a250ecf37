import { describe, expect, it } from 'vitest';
import type { Person } from '../../../src/adapters/adapter.ts';
import { createAdapter } from '../../../src/adapters/load-adapters.ts';
import { openHttpFake, sendJson } from '../../support/http-fake.ts';
import { exampleSettings } from '../../support/http-tool-settings.ts';
import { listAll } from '../../support/list-all.ts';
import { openRestTool } from '../../support/rest-tool.ts';

const { signal } = new AbortController();
const person: Person = {
  trainerId: 'cmu1',
  email: 'Amara@opentrain.work',
  memberId: null,
  displayName: 'Amara {email}',
};

async function openExample(changes: object = {}) {
  const tool = await openRestTool();
  const settings = exampleSettings(tool);
  const adapter = createAdapter('studio', 'http', { ...settings, ...changes });
  const lines = () => tool.requests.splice(0).map(({ line }) => line.replace('/v1/projects', ''));
  return { tool, adapter, lines, settings };
}

describe('the adapter http', () => {
  it('sends the declared requests, with the token only in a header', async () => {
    const { tool, adapter } = await openExample();
    await adapter.check(signal);
    await adapter.addMember('a/../b?c', person, signal);
    expect(tool.requests).toMatchObject([
      { line: 'GET /v1/me', body: null },
      {
        line: 'POST /v1/projects/a%2F..%2Fb%3Fc/members',
        headers: { authorization: `Bearer ${tool.token}`, 'content-type': 'application/json' },
        body: { email: 'amara@opentrain.work', name: 'Amara {email}', role: 'annotator', reference: 'cmu1' },
      },
    ]);
    expect(tool.requests.some(({ line }) => line.includes('token'))).toBe(false);
  });

  it('puts the token only where the settings say', async () => {
    const headers = { 'X-Api-Key': 'key {token}', 'X-Version': '2' };
    const { tool, adapter } = await openExample({ headers });
    await expect(adapter.check(signal)).rejects.toMatchObject({ code: 'unauthenticated' });
    const sent = tool.requests[0]?.headers;
    expect(sent).toMatchObject({ 'x-api-key': `key ${tool.token}`, 'x-version': '2' });
    expect(sent).not.toHaveProperty('authorization');
  });

  it.each(['', '.', '..'])('sends no request about the group %j', async (group) => {
    const { tool, adapter } = await openExample();
    const refused = {
      code: 'invalid',
      message: expect.stringContaining('cannot be in a path') as string,
    };
    await expect(adapter.findMember(group, person, signal)).rejects.toMatchObject(refused);
    await expect(adapter.addMember(group, person, signal)).rejects.toMatchObject(refused);
    const member = { id: group, email: null };
    await expect(adapter.removeMember('signs', member, signal)).rejects.toMatchObject(refused);
    expect(tool.requests).toEqual([]);
  });

  it('sends one request if the tool answers it completely', async () => {
    const { adapter, lines } = await openExample();
    const { id } = await adapter.addMember('signs', person, signal);
    expect(lines()).toEqual(['POST /signs/members']);
    await adapter.findMember('signs', { ...person, memberId: id }, signal);
    expect(lines()).toEqual([`GET /signs/members/${id}`]);
    await adapter.findMember('signs', person, signal);
    expect(lines()).toEqual(['GET /signs/members?search=amara%40opentrain.work&page=1']);
    await adapter.removeMember('signs', { id, email: null }, signal);
    expect(lines()).toEqual([`DELETE /signs/members/${id}`]);
  });

  it('finds a member by id after a change of address, and by address after a change of id', async () => {
    const { tool, adapter } = await openExample();
    tool.seed('signs', 'old@opentrain.work');
    tool.seed('signs', 'Amara@opentrain.work');
    const found = await adapter.findMember('signs', { ...person, memberId: '101' }, signal);
    expect(found).toEqual({ id: '101', email: 'old@opentrain.work' });
    const other = await adapter.findMember('signs', { ...person, memberId: '999' }, signal);
    expect(other?.email).toBe('Amara@opentrain.work');
  });

  it('finds a member by id in the list if their address has changed and there is only a search by address', async () => {
    const { tool, settings } = await openExample();
    const { findById: _, update: __, ...requests } = settings.requests;
    const adapter = createAdapter('studio', 'http', { ...settings, requests });
    for (const email of ['one@x.example', 'two@x.example', 'renamed@x.example']) tool.seed('signs', email);
    const found = await adapter.findMember('signs', { ...person, memberId: '103' }, signal);
    expect(found).toEqual({ id: '103', email: 'renamed@x.example' });
    expect(await adapter.findMember('signs', { ...person, memberId: '104' }, signal)).toBeNull();
  });

  it('marks invited members, and ignores members who are gone', async () => {
    const { tool, adapter } = await openExample();
    tool.seed('signs', 'one@x.example', 'pending');
    tool.seed('signs', 'two@x.example', 'removed');
    expect(await listAll(adapter, 'signs', signal)).toEqual([{ id: '101', email: 'one@x.example', isInvited: true }]);
    const gone = { ...person, email: 'two@x.example', memberId: '102' };
    expect(await adapter.findMember('signs', gone, signal)).toBeNull();
  });

  it('does not trust an addition whose answer names another person', async () => {
    const { url, requests } = await openHttpFake(({ method }, response) => {
      const item = { id: 7, user: { email: 'other@x.example' } };
      sendJson(response, { data: method === 'POST' ? item : [], meta: { total: 0 } });
    });
    const adapter = createAdapter('studio', 'http', exampleSettings({ url, token: 'hunter2' }));
    await expect(adapter.addMember('signs', person, signal)).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect(requests.map(({ line }) => line.split(' ')[0])).toEqual(['POST', 'GET']);
  });

  it('removes by address only members whose address is known', async () => {
    const { settings, tool } = await openExample();
    const remove = { path: '/projects/{group}/members/{email}' };
    const requests = { ...settings.requests, remove };
    const adapter = createAdapter('studio', 'http', { ...settings, requests });
    await expect(adapter.removeMember('signs', { id: '7', email: null }, signal)).rejects.toMatchObject({
      code: 'invalid',
    });
    await adapter.removeMember('signs', { id: '7', email: 'Amara@opentrain.work' }, signal);
    expect(tool.requests.at(-1)?.line).toMatch(/amara%40opentrain\.work$/);
  });
});
