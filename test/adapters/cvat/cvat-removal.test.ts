import { describe, expect, it } from 'vitest';
import type { Person } from '../../../src/adapters/adapter.ts';
import { createAdapter } from '../../../src/adapters/create-adapter.ts';
import { openCvatFake } from '../../support/cvat-fake.ts';

const { signal } = new AbortController();
const org = 'street-signs';
const person: Person = {
  ...{ trainerId: 'cmu1', email: 'amara@opentrain.work', memberId: null },
  displayName: 'Amara',
};

async function openWithMember(nameOf?: () => string) {
  const tool = await openCvatFake({ nameOf: nameOf ?? (() => 'amara_n') });
  const adapter = createAdapter('studio', 'cvat', tool.settings);
  const member = await adapter.addMember(org, person, signal);
  const { state } = tool;
  return { tool, state, adapter, member, assigneeId: Number(member.id) };
}

describe('a removal', () => {
  it('takes the jobs away that an account of the group "worker" could open without it', async () => {
    const { state, adapter, member, assigneeId } = await openWithMember();
    state.users.find(({ id }) => id === assigneeId)?.groups.push('worker');
    for (const each of ['new', 'completed', 'new', 'new']) {
      state.assign('jobs', org, { assigneeId, state: each });
    }
    const membership = state.membershipOf(org, assigneeId);
    expect(state.jobsOpenTo(assigneeId)).toHaveLength(4);
    await adapter.removeMember(org, member, signal);
    expect(state.membershipOf(org, assigneeId)).toBeUndefined();
    expect(state.jobsOpenTo(assigneeId)).toEqual([]);
    expect(membership).toBeDefined();
  });

  it('ends what is assigned to them of every kind, and nothing of anybody else', async () => {
    const { state, adapter, member, assigneeId } = await openWithMember();
    const kinds = ['jobs', 'tasks', 'projects'] as const;
    const theirs = kinds.map((kind) => state.assign(kind, org, { assigneeId }));
    const others = kinds.map((kind) => state.assign(kind, org, { assigneeId: state.own.id }));
    const elsewhere = state.assign('jobs', 'street-lamps', { assigneeId });
    await adapter.removeMember(org, member, signal);
    expect(theirs.map((one) => one.assigneeId)).toEqual([null, null, null]);
    expect(others.map((one) => one.assigneeId)).toEqual(others.map(() => state.own.id));
    expect(elsewhere.assigneeId).toBe(assigneeId);
  });

  it('ends the membership last, so that one cut short goes on where it stopped', async () => {
    const { tool, state, adapter, member, assigneeId } = await openWithMember();
    state.assign('jobs', org, { assigneeId });
    tool.faults.begin('remove', { does: 'answers', status: 503 });
    const cut = adapter.removeMember(org, member, signal);
    await expect(cut).rejects.toMatchObject({ code: 'unavailable' });
    tool.faults.end();
    const known = { ...person, memberId: member.id };
    expect(await adapter.findMember(org, known, signal)).not.toBeNull();
    await adapter.removeMember(org, member, signal);
    expect(state.jobsOpenTo(assigneeId)).toEqual([]);
    expect(await adapter.findMember(org, known, signal)).toBeNull();
    const order = tool.requests.map(({ line }) => line.split(/[ /?]/).slice(0, 4).join(' '));
    expect(order.filter((line) => /^(PATCH|DELETE)/.test(line)).slice(-2)).toEqual([
      'PATCH  api jobs',
      'DELETE  api memberships',
    ]);
  });

  it('does not mind a job that was deleted meanwhile', async () => {
    const { tool, state, adapter, member, assigneeId } = await openWithMember();
    const job = state.assign('jobs', org, { assigneeId });
    const removal = adapter.removeMember(org, member, signal);
    await expect
      .poll(() => tool.requests.some(({ line }) => line.includes('/api/jobs')))
      .toBe(true);
    state.work.jobs.splice(state.work.jobs.indexOf(job), 1);
    await removal;
    expect(state.membershipOf(org, assigneeId)).toBeUndefined();
  });

  it('that only this member is not subject to says so, and is no word about the token', async () => {
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

  it('revokes an invitation that is still open', async () => {
    const tool = await openCvatFake({ hasMail: false });
    const adapter = createAdapter('studio', 'cvat', tool.settings);
    const member = await adapter.addMember(org, person, signal);
    expect(member.isInvited).toBe(true);
    await adapter.removeMember(org, member, signal);
    expect(tool.state.membershipOf(org, Number(member.id))).toBeUndefined();
    expect(await adapter.findMember(org, person, signal)).toBeNull();
  });

  it('can be undone: an account that is there is in again at once', async () => {
    const { adapter, member } = await openWithMember();
    await adapter.removeMember(org, member, signal);
    const again = await adapter.addMember(org, { ...person, memberId: member.id }, signal);
    expect(again).toEqual({ id: member.id, email: person.email });
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
