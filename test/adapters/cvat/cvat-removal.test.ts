import { describe, expect, it } from 'vitest';
import type { Adapter, Member, Person } from '../../../src/adapters/adapter.ts';
import { createAdapter } from '../../../src/adapters/load-adapters.ts';
import { openCvatFake } from '../../support/cvat-fake.ts';

const { signal } = new AbortController();
const org = 'street-signs';
const person: Person = { trainerId: 'cmu1', email: 'amara@opentrain.work', memberId: null, displayName: 'Amara' };

async function openWithMember(nameOf?: () => string) {
  const tool = await openCvatFake({ nameOf: nameOf ?? (() => 'amara_n') });
  const adapter = createAdapter('studio', 'cvat', tool.settings);
  const member = await adapter.addMember(org, person, signal);
  const { state } = tool;
  return { tool, state, adapter, member, assigneeId: Number(member.id) };
}

/** As the engine does, part by part. @returns the number of parts */
async function end(adapter: Adapter, member: Member, project: string | null = null) {
  for (let parts = 1; ; parts += 1) {
    const left = await adapter.endAssignments?.(org, member, project, signal);
    if (left === 'done') return parts;
  }
}

describe('what was assigned to a member', () => {
  it.each([
    ['under the name they had', { name: 'amara_n' }],
    ['when their name is unknown', {}],
  ])('is ended for every kind, and nothing of other members, %s', async (_, known) => {
    const { state, adapter, member, assigneeId } = await openWithMember();
    const kinds = ['jobs', 'tasks', 'projects'] as const;
    const theirs = kinds.map((kind) => state.assign(kind, org, { assigneeId }));
    const others = kinds.map((kind) => state.assign(kind, org, { assigneeId: state.own.id }));
    const elsewhere = state.assign('jobs', 'street-lamps', { assigneeId });
    await adapter.removeMember(org, member, signal);
    await end(adapter, { ...member, ...known });
    expect(theirs.map((one) => one.assigneeId)).toEqual([null, null, null]);
    expect(others.map((one) => one.assigneeId)).toEqual(others.map(() => state.own.id));
    expect(elsewhere.assigneeId).toBe(assigneeId);
  });

  it('stays with another person who has the name by now', async () => {
    const { state, adapter, member, assigneeId } = await openWithMember();
    state.rename(assigneeId, 'gone');
    const namesake = state.createUser('amara_n', 'other@lab.example', true);
    const job = state.assign('jobs', org, { assigneeId: namesake.id });
    await end(adapter, { ...member, name: 'amara_n' });
    expect(job.assigneeId).toBe(namesake.id);
  });

  it('is ended in one project only if the member stays for another', async () => {
    const { state, adapter, member, assigneeId } = await openWithMember();
    const left = state.assign('jobs', org, { assigneeId, projectId: 7 });
    const stays = state.assign('jobs', org, { assigneeId, projectId: 8 });
    const task = state.assign('tasks', org, { assigneeId, projectId: 7 });
    const project = state.assign('projects', org, { assigneeId });
    await end(adapter, member, '7');
    expect([left, task].map((one) => one.assigneeId)).toEqual([null, null]);
    expect([stays, project].map((one) => one.assigneeId)).toEqual([assigneeId, assigneeId]);
    await end(adapter, member, String(project.id));
    expect(project.assigneeId).toBeNull();
    for (const strange of ['x', '0', '7,8', '']) expect(await end(adapter, member, strange)).toBe(1);
    expect(stays.assigneeId).toBe(assigneeId);
  });

  it('stays if it is completed and counts as their work, in a project that they leave', async () => {
    const tool = await openCvatFake({ nameOf: () => 'amara_n' });
    const settings = { ...tool.settings, analytics: false };
    const adapter = createAdapter('studio', 'cvat', settings);
    const member = await adapter.addMember(org, person, signal);
    const assigneeId = Number(member.id);
    const done = tool.state.assign('jobs', org, { assigneeId, state: 'completed' });
    const open = tool.state.assign('jobs', org, { assigneeId, state: 'in progress' });
    await end(adapter, member, '7');
    expect([done.assigneeId, open.assigneeId]).toEqual([assigneeId, null]);
    await end(adapter, member);
    expect(done.assigneeId).toBeNull();
  });

  it('is ended in parts, so that no call takes too long', async () => {
    const { tool, state, adapter, member, assigneeId } = await openWithMember();
    for (let count = 0; count < 90; count += 1) state.assign('jobs', org, { assigneeId });
    const named = { ...member, name: 'amara_n' };
    expect(await adapter.endAssignments?.(org, named, null, signal)).toBe('more');
    expect(state.jobsListedTo(assigneeId)).toHaveLength(70);
    expect(await end(adapter, named)).toBe(4);
    expect(state.jobsListedTo(assigneeId)).toEqual([]);
    const changes = tool.requests.filter(({ line }) => line.startsWith('PATCH'));
    expect(changes).toHaveLength(90);
  });

  it('is ended even if a job was deleted meanwhile', async () => {
    const { tool, state, adapter, member, assigneeId } = await openWithMember();
    const job = state.assign('jobs', org, { assigneeId });
    tool.faults.begin('remove', { does: 'answers', status: 404 });
    expect(await end(adapter, member)).toBe(1);
    expect(job.assigneeId).toBe(assigneeId);
  });
});

describe('a removal', () => {
  it('that is refused for this member says so, and is not a fault of the token', async () => {
    const tool = await openCvatFake({ ownRole: 'maintainer', nameOf: () => 'amara_n' });
    const adapter = createAdapter('studio', 'cvat', tool.settings);
    const member = await adapter.addMember(org, person, signal);
    const membership = tool.state.membershipOf(org, Number(member.id));
    Object.assign(membership ?? {}, { role: 'maintainer' });
    await expect(adapter.removeMember(org, member, signal)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('Make them a worker in CVAT first') as string,
    });
    Object.assign(membership ?? {}, { role: 'worker' });
    await adapter.removeMember(org, member, signal);
    expect(tool.state.membershipOf(org, Number(member.id))).toBeUndefined();
  });

  it('sends the token and never an address in a path', async () => {
    const { tool, adapter, member } = await openWithMember();
    await adapter.removeMember(org, member, signal);
    for (const { line, headers } of tool.requests) {
      expect(headers).toMatchObject({
        authorization: `Bearer ${tool.token}`,
        accept: 'application/vnd.cvat+json',
      });
      expect(line.split('?')[0]).not.toContain('amara');
    }
  });
});
