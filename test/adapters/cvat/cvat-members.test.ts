import { describe, expect, it } from 'vitest';
import type { Person } from '../../../src/adapters/adapter.ts';
import { createAdapter } from '../../../src/adapters/load-adapters.ts';
import { type CvatFakeOptions, openCvatFake } from '../../support/cvat-fake.ts';
import { cvatStories, toCvatSite } from '../../support/cvat-stories.ts';
import { listAll } from '../../support/list-all.ts';

const { signal } = new AbortController();
const org = 'street-signs';
const person: Person = { trainerId: 'cmu1', email: 'Amara@opentrain.work', memberId: null, displayName: 'Amara' };

async function openCvat(options: CvatFakeOptions = {}) {
  const tool = await openCvatFake(options);
  const adapter = createAdapter('studio', 'cvat', tool.settings);
  const lines = () => tool.requests.splice(0).map(({ line }) => line);
  return { tool, adapter, lines, state: tool.state };
}

const realName = { nameOf: () => 'amara_n' };

describe('an invitation', () => {
  it('makes an unknown person a member who is not in yet, with the link of the mail', async () => {
    const { adapter, tool } = await openCvat();
    const added = await adapter.addMember(org, person, signal);
    expect(added).toMatchObject({ email: 'amara@opentrain.work', isInvited: true });
    const [membership] = tool.state.memberships.slice(-1);
    const key = membership?.invitation?.key;
    expect(added.invitation).toEqual({
      kind: 'link',
      url: `${tool.url}/auth/login?email=amara%40opentrain.work&invitation=${key}`,
      expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
    });
    const expiresAt = added.invitation?.kind === 'link' ? added.invitation.expiresAt : null;
    const createdMs = Date.parse(membership?.invitation?.created ?? '');
    expect(Date.parse(expiresAt ?? '') - createdMs).toBe(7 * 86_400_000);
    expect(tool.requests[0]?.body).toEqual({ email: 'amara@opentrain.work', role: 'worker' });
  });

  it('is made even if CVAT answers 500 because it has no mail', async () => {
    const { adapter, state, lines } = await openCvat({ hasMail: false });
    const added = await adapter.addMember(org, person, signal);
    const made = state.findByEmail(person.email);
    expect(added).toMatchObject({ id: String(made?.id), isInvited: true });
    expect(added.invitation).toMatchObject({ kind: 'link', expiresAt: null });
    expect(lines().map((line) => line.split('?')[0])).toEqual(['POST /api/invitations', 'GET /api/memberships']);
  });

  it('is the same one if the repeated call is refused', async () => {
    const { adapter, state } = await openCvat({ hasMail: false });
    state.invite(org, 'amara@opentrain.work', 'worker');
    const count = state.memberships.length;
    const added = await adapter.addMember(org, person, signal);
    expect(added).toMatchObject({ isInvited: true, invitation: { kind: 'link' } });
    expect(state.memberships).toHaveLength(count);
    expect(await adapter.findMember(org, person, signal)).toMatchObject({ id: added.id });
  });

  it('is an error to retry if CVAT answers 500 and adds no member', async () => {
    const { adapter, tool } = await openCvat();
    tool.faults.begin('add', { does: 'answers', status: 500 });
    await expect(adapter.addMember(org, person, signal)).rejects.toMatchObject({
      code: 'unavailable',
      status: 500,
    });
  });

  it('lets a person with an account in at once, whatever their name', async () => {
    const { adapter, lines } = await openCvat({ ...realName, hasMail: false });
    const added = await adapter.addMember(org, person, signal);
    expect(added).toEqual({ id: added.id, email: 'amara@opentrain.work' });
    expect(lines()).toHaveLength(1);
    const known = { ...person, memberId: added.id };
    const found = { id: added.id, email: null, name: 'amara_n' };
    expect(await adapter.findMember(org, known, signal)).toEqual(found);
    // CVAT shows no addresses, so without the id the member cannot be found.
    expect(await adapter.findMember(org, person, signal)).toBeNull();
  });

  it('says what to do for a member whose name is unknown', async () => {
    const { adapter } = await openCvat(realName);
    const { id } = await adapter.addMember(org, person, signal);
    const refused = { code: 'conflict', status: 400, message: /remove that member in CVAT/ };
    await expect(adapter.addMember(org, person, signal)).rejects.toMatchObject({
      ...refused,
      message: expect.stringMatching(refused.message) as string,
    });
    const again = await adapter.addMember(org, { ...person, memberId: id }, signal);
    expect(again.id).toBe(id);
  });

  it('of an older server does not say whether it was accepted, so the membership is read', async () => {
    const { adapter } = await openCvat({ tellsAccepted: false });
    expect(await adapter.addMember(org, person, signal)).toMatchObject({ isInvited: true });
    const other = await openCvat({ ...realName, tellsAccepted: false });
    const added = await other.adapter.addMember(org, person, signal);
    expect(added).not.toHaveProperty('isInvited');
  });

  it('must be accepted by a person with an account if the server requires that', async () => {
    const { adapter } = await openCvat({ ...realName, mustConfirm: true });
    const added = await adapter.addMember(org, person, signal);
    expect(added).toMatchObject({ isInvited: true, invitation: { kind: 'link' } });
  });

  it('stays open while the person registers under another name', async () => {
    const { adapter, state } = await openCvat({ hasMail: false });
    const { id } = await adapter.addMember(org, person, signal);
    const known = { ...person, memberId: id };
    const registered = state.register(person.email, 'amara_n');
    expect(String(registered.id)).toBe(id);
    expect(await adapter.findMember(org, known, signal)).toEqual({ id, email: null, name: 'amara_n', isInvited: true });
    Object.assign(state.membershipOf(org, registered.id) ?? {}, { isActive: true });
    const found = { id, email: null, name: 'amara_n' };
    expect(await adapter.findMember(org, known, signal)).toEqual(found);
  });
});

describe('an invitation that is renewed', () => {
  it('is sent again, and is valid for another week', async () => {
    const { adapter, lines } = await openCvat();
    const added = await adapter.addMember(org, person, signal);
    lines();
    const renewed = await adapter.renewInvitation?.(org, added, signal);
    expect(renewed).toMatchObject({ kind: 'link', expiresAt: expect.any(String) as string });
    expect(lines().at(-1)).toMatch(/^POST \/api\/invitations\/key-\d+\/resend$/);
  });

  it('needs no mail if none was sent', async () => {
    const { adapter } = await openCvat({ hasMail: false });
    const added = await adapter.addMember(org, person, signal);
    const renewed = await adapter.renewInvitation?.(org, added, signal);
    expect(renewed).toEqual(added.invitation);
  });

  it('is an error if it has expired and the server has no mail any more', async () => {
    const { adapter, state } = await openCvat({ hasMail: false });
    const added = await adapter.addMember(org, person, signal);
    const membership = state.membershipOf(org, Number(added.id));
    Object.assign(membership?.invitation ?? {}, { sent: '2026-01-01T00:00:00Z' });
    await expect(adapter.renewInvitation?.(org, added, signal)).rejects.toMatchObject({
      status: 500,
    });
  });

  it('is an error for a person who is in already, or gone', async () => {
    const { adapter } = await openCvat(realName);
    const added = await adapter.addMember(org, person, signal);
    const refused = { code: 'conflict' };
    await expect(adapter.renewInvitation?.(org, added, signal)).rejects.toMatchObject(refused);
    await adapter.removeMember(org, added, signal);
    await expect(adapter.renewInvitation?.(org, added, signal)).rejects.toMatchObject(refused);
  });
});

describe('a name that is an address', () => {
  it('keeps the owner of the address out, and the error says what to do', async () => {
    let name: string | undefined = 'amara_n';
    const { adapter, state } = await openCvat({ nameOf: () => name });
    const colleague = await adapter.addMember(org, person, signal);
    name = undefined;
    const other = { ...person, trainerId: 'cmu2', email: 'zoe@opentrain.work' };
    state.rename(Number(colleague.id), other.email);
    await expect(adapter.addMember(org, other, signal)).rejects.toMatchObject({
      code: 'conflict',
      status: 500,
      message: expect.stringMatching(/uses this address as their name.*rename that account/) as string,
    });
    await adapter.removeMember(org, colleague, signal);
    await expect(adapter.addMember(org, other, signal)).rejects.toMatchObject({
      code: 'unavailable',
      status: 500,
      message: expect.stringContaining('may have this address as its name') as string,
    });
    state.rename(Number(colleague.id), 'amara_n');
    expect(await adapter.addMember(org, other, signal)).toMatchObject({ isInvited: true });
  });
});

describe('a search', () => {
  it.each(['', '.', '..', 'a/b', 'x&org=other'])('sends no request about %j', async (group) => {
    const { adapter, lines } = await openCvat();
    const refused = { code: 'invalid' };
    const member = { id: '1', email: null };
    await expect(adapter.findMember(group, person, signal)).rejects.toMatchObject(refused);
    await expect(adapter.addMember(group, person, signal)).rejects.toMatchObject(refused);
    await expect(adapter.removeMember(group, member, signal)).rejects.toMatchObject(refused);
    await expect(listAll(adapter, group, signal)).rejects.toMatchObject(refused);
    expect(lines()).toEqual([]);
  });

  it('in a missing organization is an error, not an empty result', async () => {
    const { adapter } = await openCvat();
    const refused = { code: 'not_found' };
    await expect(adapter.findMember('gone', person, signal)).rejects.toMatchObject(refused);
    await expect(listAll(adapter, 'gone', signal)).rejects.toMatchObject(refused);
  });
});

describe('the list', () => {
  it('has the owner, members and invited people, and no deleted account', async () => {
    const { adapter, state } = await openCvat();
    const { id } = await adapter.addMember(org, person, signal);
    const gone = state.createUser('gone', 'gone@x.example', true);
    state.invite(org, gone.email, 'worker');
    state.users.splice(state.users.indexOf(gone), 1);
    expect(await listAll(adapter, org, signal)).toEqual([
      { id: String(state.own.id), email: null, name: 'manager' },
      { id, email: person.email.toLowerCase(), name: person.email.toLowerCase(), isInvited: true },
    ]);
  });

  it('misses and repeats no member while people come and go', async () => {
    const { adapter, state } = await openCvat({
      spoil: (_line, answer) => {
        state.memberships.splice(1, 1);
        count += 1;
        state.invite(org, `late.${count}@opentrain.work`, 'worker');
        return answer;
      },
    });
    let count = 0;
    for (let index = 0; index < 9; index += 1) {
      state.invite(org, `trainer.${index}@opentrain.work`, 'worker');
    }
    const ids = (await listAll(adapter, org, signal)).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const early = state.users.filter(({ username }) => username.startsWith('trainer.'));
    const stayed = early.filter(({ id }) => state.membershipOf(org, id) !== undefined);
    expect(stayed.length).toBeGreaterThan(3);
    expect(ids).toEqual(expect.arrayContaining(stayed.map(({ id }) => String(id))));
  });

  it('that does not advance is an error, not an endless loop', async () => {
    const { adapter, state } = await openCvat({
      spoil: (_line, answer) => ({ ...answer, body: { ...Object(answer.body), next: 'again' } }),
    });
    state.invite(org, person.email, 'worker');
    await expect(listAll(adapter, org, signal)).rejects.toMatchObject({ code: 'invalid' });
  });
});

describe('what people see', () => {
  it.each(cvatStories)('$name', async ({ run }) => await run(toCvatSite(await openCvatFake())));
});

it('costs few requests for a member', async () => {
  const { adapter, lines, state } = await openCvat();
  const added = await adapter.addMember(org, person, signal);
  expect(lines()).toHaveLength(1);
  await adapter.findMember(org, person, signal);
  expect(lines()).toHaveLength(1);
  await adapter.findMember(org, { ...person, memberId: added.id }, signal);
  expect(lines()).toHaveLength(2);
  state.assign('jobs', org, { assigneeId: Number(added.id) });
  const found = await adapter.findMember(org, { ...person, memberId: added.id }, signal);
  lines();
  await adapter.removeMember(org, added, signal);
  expect(lines()).toHaveLength(3);
  await adapter.endAssignments?.(org, found ?? added, null, signal);
  expect(lines()).toHaveLength(4);
  await adapter.findMember(org, { ...person, memberId: added.id }, signal);
  expect(lines()).toHaveLength(2);
});
