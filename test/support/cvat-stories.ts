import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { Adapter, Member, Person } from '../../src/adapters/adapter.ts';
import { createAdapter } from '../../src/adapters/load-adapters.ts';
import type { CvatFake } from './cvat-fake.ts';

/** A CVAT in which people do what they can do by themselves: a real one, or the fake. */
export interface CvatSite {
  settings: { url: string; token: string; organization: string };
  /** Makes an account as every visitor can, under a name of their own. */
  register(email: string, name: string): Promise<CvatPerson>;
  makeProject(): Promise<number>;
  makeTask(project: number, assigneeId: number): Promise<CvatTask>;
}

export interface CvatPerson {
  id: number;
  /** Whether they see the organization. */
  isIn(): Promise<boolean>;
  rename(name: string): Promise<void>;
}

export interface CvatTask {
  assigneeId(): Promise<number | null>;
}

/** What the adapter does, seen by the people it is done to: in a real CVAT and the fake one. */
export interface CvatStory {
  name: string;
  run(site: CvatSite): Promise<void>;
}

export const cvatStories: readonly CvatStory[] = [
  { name: 'lets in at once who has an account, and locks them out', run: letsIn },
  { name: 'does not take a user for the trainer whose address is their name', run: knowsNames },
  { name: 'shows who came in by an invitation whose answer was lost', run: showsNewcomers },
  { name: 'renews more invitations than CVAT sends again in an hour', run: renewsMany },
  { name: 'takes away what is assigned, in one project or in all', run: endsAssignments },
  { name: 'keeps a guide of each project, without spaces at its ends', run: keepsGuides },
];

const { signal } = new AbortController();
const adapterOf = ({ settings }: CvatSite) => createAdapter('studio', 'cvat', settings);

/** A person who is in no other story, and in no other run: accounts stay. */
function newPerson(): Person & { name: string } {
  const name = `trainer_${randomBytes(6).toString('hex')}`;
  const email = `${name}@opentrain.work`;
  return { trainerId: name, email, displayName: null, memberId: null, name };
}

async function end(adapter: Adapter, org: string, member: Member, project: string | null = null) {
  while ((await adapter.endAssignments?.(org, member, project, signal)) === 'more');
}

async function letsIn(site: CvatSite): Promise<void> {
  const { organization: org } = site.settings;
  const [adapter, person] = [adapterOf(site), newPerson()];
  const account = await site.register(person.email, person.name);
  expect(await account.isIn()).toBe(false);
  const added = await adapter.addMember(org, person, signal);
  expect([added.id, added.isInvited]).toEqual([String(account.id), undefined]);
  expect(await account.isIn()).toBe(true);
  await adapter.removeMember(org, added, signal);
  expect(await account.isIn()).toBe(false);
}

async function knowsNames(site: CvatSite): Promise<void> {
  const { organization: org } = site.settings;
  const [adapter, one, other] = [adapterOf(site), newPerson(), newPerson()];
  const account = await site.register(one.email, one.name);
  const added = await adapter.addMember(org, one, signal);
  await account.rename(other.email);
  try {
    expect(await adapter.findMember(org, other, signal)).toBeNull();
    expect(await adapter.findMember(org, { ...one, memberId: added.id }, signal)).toMatchObject({
      id: added.id,
      email: null,
    });
    await expect(adapter.addMember(org, other, signal)).rejects.toMatchObject({ code: 'conflict' });
    expect(await account.isIn()).toBe(true);
  } finally {
    await account.rename(one.name);
    await adapter.removeMember(org, added, signal);
  }
  expect(await account.isIn()).toBe(false);
}

async function showsNewcomers(site: CvatSite): Promise<void> {
  const { organization: org } = site.settings;
  const [adapter, person] = [adapterOf(site), newPerson()];
  const account = await site.register(person.email, person.name);
  const since = new Date().toISOString();
  // As if the answer had been lost.
  const { id } = await adapter.addMember(org, person, signal);
  const newcomers = async () => {
    const all = await Array.fromAsync(adapter.listNewcomers?.(org, since, signal) ?? []);
    return all.map((member) => member.id);
  };
  expect(await adapter.findMember(org, person, signal)).toBeNull();
  await expect(adapter.addMember(org, person, signal)).rejects.toMatchObject({ code: 'conflict' });
  expect(await newcomers()).toContain(id);
  await adapter.removeMember(org, { id, email: null }, signal);
  expect(await newcomers()).not.toContain(id);
  expect(await account.isIn()).toBe(false);
}

async function renewsMany(site: CvatSite): Promise<void> {
  const { organization: org } = site.settings;
  const adapter = adapterOf(site);
  const people = Array.from({ length: 7 }, newPerson);
  for (const person of people) {
    const { id, email } = await adapter.addMember(org, person, signal);
    const renewed = await adapter.renewInvitation?.(org, { id, email }, signal);
    expect(renewed).toMatchObject({ kind: 'link' });
    const found = await adapter.findMember(org, { ...person, memberId: id }, signal);
    expect(found).toMatchObject({ id, isInvited: true });
  }
  for (const person of people) {
    const found = await adapter.findMember(org, person, signal);
    if (found !== null) await adapter.removeMember(org, found, signal);
    expect(await adapter.findMember(org, person, signal)).toBeNull();
  }
}

async function endsAssignments(site: CvatSite): Promise<void> {
  const { organization: org } = site.settings;
  const [adapter, person] = [adapterOf(site), newPerson()];
  const account = await site.register(person.email, person.name);
  const added = await adapter.addMember(org, person, signal);
  const [left, stays] = [await site.makeProject(), await site.makeProject()];
  const tasks = [await site.makeTask(left, account.id), await site.makeTask(stays, account.id)] as const;
  const assignees = async () => await Promise.all(tasks.map((task) => task.assigneeId()));
  await end(adapter, org, added, String(left));
  expect(await assignees()).toEqual([null, account.id]);
  await adapter.removeMember(org, added, signal);
  expect(await account.isIn()).toBe(false);
  expect(await assignees()).toEqual([null, account.id]);
  // They are no member any more, and no answer has their name.
  await end(adapter, org, added);
  expect(await assignees()).toEqual([null, null]);
}

async function keepsGuides(site: CvatSite): Promise<void> {
  const adapter = adapterOf(site);
  const [one, other] = [String(await site.makeProject()), String(await site.makeProject())];
  const read = async (project: string) => await adapter.readGuidelines?.(project, signal);
  expect([await read(one), await read(other)]).toEqual(['', '']);
  const asset = '(/api/assets/0d6c2f4e-8a57-4a5e-9a31-6f0a4b1e2c3d)';
  for (const text of ['# Cars', `# Whole cars\n\n<script>alert(1)</script> ${asset}`, '']) {
    await adapter.writeGuidelines?.(one, ` ${text}\n`, signal);
    expect([await read(one), await read(other)]).toEqual([text.replace('(/', '(\\/'), '']);
  }
  await expect(adapter.writeGuidelines?.(one, 'a\0b', signal)).rejects.toMatchObject({ code: 'invalid' });
}

/** The fake as such a site. */
export function toCvatSite({ state, settings }: CvatFake): CvatSite {
  const { organization: org } = settings;
  return {
    settings,
    async register(email, name) {
      const { id } = state.register(email, name);
      return {
        id,
        isIn: async () => state.membershipOf(org, id)?.isActive === true,
        rename: async (other) => state.rename(id, other),
      };
    },
    makeProject: async () => state.assign('projects', org).id,
    async makeTask(projectId, assigneeId) {
      const task = state.assign('tasks', org, { projectId, assigneeId });
      return { assigneeId: async () => task.assigneeId };
    },
  };
}
