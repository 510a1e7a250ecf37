import { describe, expect, it } from 'vitest';
import { createAdapter } from '../../../src/adapters/load-adapters.ts';
import { describeLabelStudio } from '../../support/label-studio/claims.ts';
import { openFakeLabelStudio } from '../../support/label-studio/fake-label-studio.ts';
import { createLabelStudio, person } from '../../support/label-studio/label-studio-harness.ts';

const { signal } = new AbortController();

describeLabelStudio('fake', openFakeLabelStudio);

describe('the settings', () => {
  const url = 'https://labels.example.com/';
  const whole = { url, token: 't0ken', offboarding: 'membership' };
  const create = (settings: object) => createAdapter('studio', 'label-studio', settings);

  it('have safe defaults', () => {
    const adapter = create(whole);
    expect(adapter.capabilities.invitation).toBe('shared');
    const link = { externalProjectId: '12', externalProjectName: null };
    expect([adapter.groupFor(link), adapter.usageScopeFor?.(link)]).toEqual(['1', '12']);
  });

  it.each([
    [{ offboarding: undefined }, 'tools.studio.offboarding: say what a removal does: "delete_user"'],
    [{ url: 'http://labels.example.com' }, 'tools.studio.url: is plain http to another machine'],
    [{ url: 'https://labels.example.com?x' }, 'tools.studio.url: without credentials, query'],
    [{ token: undefined }, 'tools.studio.token: needs "token", a personal access token'],
    [{ token: 'two words' }, 'tools.studio.token: is printable ASCII'],
    [{ organization: 'mine' }, 'tools.studio.organization: is the number'],
    [{ onboarding: 'email' }, 'tools.studio.onboarding: '],
    [{ organisation: 1 }, 'unknown key: organisation'],
  ])('%j are refused', (settings, said) => {
    expect(() => create({ ...whole, ...settings })).toThrow(said);
  });

  it('show people the public address', async () => {
    const fake = await openFakeLabelStudio();
    const adapter = createLabelStudio(fake, { publicUrl: 'https://labels.example.com/ls/' });
    const { invitation } = await adapter.addMember('1', person(1), signal);
    expect(invitation).toMatchObject({
      url: expect.stringMatching(/^https:\/\/labels\.example\.com\/ls\/user\/signup\/\?token=\w+$/),
    });
  });
});

describe('an adapter', () => {
  it('refuses every other organization', async () => {
    const adapter = createLabelStudio(await openFakeLabelStudio());
    const member = { id: '2', email: null };
    for (const call of [
      () => adapter.findMember('2', person(1), signal),
      () => adapter.addMember('2', person(1), signal),
      () => adapter.removeMember('2', member, signal),
    ]) {
      await expect(call()).rejects.toThrow('Only organization 1 is configured');
    }
  });

  it('deletes nobody if the organization is not shown, because its owner is unknown', async () => {
    const adapter = createLabelStudio(await openFakeLabelStudio(), { onboarding: 'sign_up', organization: 2 });
    const added = await adapter.addMember('2', { ...person(1), newPassword: 'correct-horse-battery' }, signal);
    const removing = adapter.removeAccount?.('2', added, signal);
    await expect(removing).rejects.toMatchObject({ code: 'not_found' });
    expect(await adapter.findMember('2', { ...person(1), memberId: added.id }, signal)).not.toBeNull();
  });

  it('refuses to sign a person up without a password', async () => {
    const adapter = createLabelStudio(await openFakeLabelStudio(), { onboarding: 'sign_up' });
    const { newPassword: _, ...one } = person(1);
    const refused = adapter.addMember('1', one, signal);
    await expect(refused).rejects.toThrow('no password was given for a new account');
  });

  it('signs a person up although a removal resets the link meanwhile', async () => {
    const fake = await openFakeLabelStudio();
    const adapter = createLabelStudio(fake, { onboarding: 'sign_up' });
    fake.onceBefore('POST /user/signup/', () => fake.users.resetInviteToken());
    expect(await adapter.addMember('1', person(1), signal)).toMatchObject({ id: '2' });
  });

  it('returns a person who was signed up by another call at the same moment', async () => {
    const fake = await openFakeLabelStudio();
    const adapter = createLabelStudio(fake, { onboarding: 'sign_up' });
    const added = await Promise.all([1, 2, 3].map(() => adapter.addMember('1', person(1), signal)));
    expect(new Set(added.map(({ id }) => id)).size).toBe(1);
  });

  it.each([
    ['a page', (users: unknown[]) => ({ count: 3, next: null, results: users })],
    ['a plain list', (users: unknown[]) => users],
  ])('reads users from %s', async (_what, toBody) => {
    const fake = await openFakeLabelStudio();
    fake.showUsersAs(toBody);
    const adapter = createLabelStudio(fake);
    const owner = { ...person(1), email: 'OWNER@example.com' };
    expect(await adapter.findMember('1', owner, signal)).toEqual({
      id: '1',
      email: 'owner@example.com',
      madeAt: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T.*Z$/),
    });
  });

  it.each([
    ['Deleted', 9],
    ['deleted-9-user@example.com', 9],
    [null, 9],
  ])('does not take a user masked as %j for a member', async (email, id) => {
    const fake = await openFakeLabelStudio();
    fake.showUsersAs(() => [{ id, email }]);
    const adapter = createLabelStudio(fake);
    expect(await Array.fromAsync(adapter.listMembers?.('1', signal) ?? [])).toEqual([]);
    const masked = { ...person(1), email: email ?? 'x@example.com' };
    expect(await adapter.findMember('1', masked, signal)).toBeNull();
  });
});

describe('the calls for a member', () => {
  it.each([
    ['sign_up', ['users', 'invite', 'signup', 'signup', 'whoami']],
    ['invite_link', ['users', 'invite']],
  ])('by %s are few', async (onboarding, adding) => {
    const fake = await openFakeLabelStudio();
    const adapter = createLabelStudio(fake, { onboarding });
    const since = async (work: () => Promise<unknown>) => {
      const before = fake.requests.length;
      await work();
      return fake.requests.slice(before).map((line) => line.split('/').at(line.endsWith('/') ? -2 : -1));
    };
    expect(await since(() => adapter.addMember('1', person(1), signal))).toEqual(adding);
    const { id } = await fake.api<{ id: number }>('POST', '/api/users/', { username: 'x', email: 'x@example.com' });
    const member = { id: String(id), email: 'x@example.com' };
    const known = { ...person(1), email: 'x@example.com', memberId: member.id };
    expect(await since(() => adapter.findMember('1', known, signal))).toEqual([member.id]);
    expect(await since(() => adapter.removeMember('1', member, signal))).toHaveLength(3);
    expect(await since(async () => adapter.resetInvitations?.('1', signal))).toHaveLength(1);
  });
});
