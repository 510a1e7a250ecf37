import assert from 'node:assert/strict';
import type { Member } from '../adapter.ts';
import {
  add,
  assertListed,
  type ConformanceCase,
  type ConformanceHarness,
  cleanUp,
  find,
  remove,
  signalOf,
  withMember,
} from './harness.ts';

/** Memberships: adding, finding, removing. */
export const membershipCases: readonly ConformanceCase[] = [
  { name: 'does not find a person who was never added', run: findsNoStranger },
  { name: 'finds the member it added, under the same id', run: findsAddedMember },
  { name: 'gives the same answer each time it is asked', run: repeatsItself },
  { name: 'adds a person twice and has one member', run: addsOnce },
  { name: 'ignores the case of an address', run: ignoresCase },
  {
    name: 'finds a member from before, and does not add them a second time',
    skip: ({ seed }) => (seed ? null : 'only the adapter can add a member here'),
    run: leavesAlone,
  },
  { name: 'finds a member by address if their old id leads to no account', run: outgrowsIds },
  { name: 'does not find a removed member, even by their id', run: removes },
  { name: 'removes a member who is out already without an error', run: removesTwice },
  {
    name: 'removes a member from no other group',
    skip: ({ groups }) => (groups[1] === undefined ? 'the tool has one group' : null),
    run: keepsGroupsApart,
  },
  { name: 'removes no other member of the group', run: keepsPeopleApart },
  {
    name: 'adds a removed member again',
    skip: ({ adapter }) =>
      adapter.capabilities.readding === 'yes' ? null : 'the adapter says that it cannot, under the same id',
    run: addsAgain,
  },
  {
    name: 'invites a person the tool does not know, under an id of their own',
    skip: ({ adapter }) =>
      adapter.capabilities.invitation === 'shared' ? null : 'the tool knows the people it invited',
    run: invites,
  },
  {
    name: 'ends the assignments of a member who has none, and finishes',
    skip: ({ adapter }) => (adapter.endAssignments === undefined ? 'the adapter ends no assignments' : null),
    run: endsAssignments,
  },
  {
    name: 'ends a login, and no other',
    skip: ({ adapter }) => (adapter.removeAccount === undefined ? 'the adapter ends no logins' : null),
    run: endsLogin,
  },
];

async function findsNoStranger(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(1);
  for (const group of harness.groups) assert.equal(await find(harness, person, group), null);
}

async function findsAddedMember(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(2);
  await withMember(harness, person, async (member) => {
    assert.equal(typeof member.id, 'string');
    assert.notEqual(member.id, '');
    assert.equal((await find(harness, person))?.id, member.id);
    assert.equal((await find(harness, { ...person, memberId: member.id }))?.id, member.id);
    assert.equal((await find(harness, { ...person, displayName: 'Renamed' }))?.id, member.id);
  });
}

async function addsOnce(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(3);
  await withMember(harness, person, async (member) => {
    const again = await add(harness, { ...person, memberId: member.id });
    assert.equal(again.id, member.id);
    assert.equal((await add(harness, person)).id, member.id);
    await assertListed(harness, member.id, 1);
    await remove(harness, member);
    assert.equal(await find(harness, person), null, 'one removal undoes two additions');
  });
}

async function ignoresCase(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(4);
  const shouted = { ...person, email: person.email.toUpperCase() };
  await withMember(harness, shouted, async (member) => {
    assert.equal((await find(harness, person))?.id, member.id);
    assert.equal((await find(harness, shouted))?.id, member.id);
    assert.equal((await add(harness, person)).id, member.id);
    await assertListed(harness, member.id, 1);
  });
}

async function removes(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(5);
  await withMember(harness, person, async (member) => {
    await remove(harness, member);
    assert.equal(await find(harness, person), null);
    assert.equal(await find(harness, { ...person, memberId: member.id }), null);
    await assertListed(harness, member.id, 0);
  });
}

async function removesTwice(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(6);
  await withMember(harness, person, async (member) => {
    await remove(harness, member);
    await remove(harness, member);
    assert.equal(await find(harness, person), null);
  });
}

async function keepsGroupsApart(harness: ConformanceHarness): Promise<void> {
  const [here, there = ''] = harness.groups;
  const person = harness.person(7);
  await withMember(harness, person, async (member) => {
    assert.equal(await find(harness, person, there), null);
    // They are not in that group, so this changes nothing, also in the other group.
    await remove(harness, member, there);
    assert.equal((await find(harness, person))?.id, member.id);

    const other = await add(harness, person, there);
    try {
      await remove(harness, member, here);
      assert.equal(await find(harness, person), null);
      assert.equal((await find(harness, person, there))?.id, other.id);
    } finally {
      await remove(harness, other, there);
    }
  });
}

async function keepsPeopleApart(harness: ConformanceHarness): Promise<void> {
  const [one, two] = [harness.person(8), harness.person(9)];
  await withMember(harness, one, async (first) => {
    await withMember(harness, two, async (second) => {
      assert.notEqual(first.id, second.id);
      await remove(harness, first);
      assert.equal(await find(harness, one), null);
      assert.equal((await find(harness, two))?.id, second.id);
    });
  });
}

async function addsAgain(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(10);
  await withMember(harness, person, async (member) => {
    await remove(harness, member);
    const returned = await add(harness, { ...person, memberId: member.id });
    assert.equal((await find(harness, person))?.id, returned.id);
    await remove(harness, returned);
  });
}

async function repeatsItself(harness: ConformanceHarness): Promise<void> {
  const { adapter, groups } = harness;
  const [person, absent] = [harness.person(16), harness.person(17)];
  const stillAbsent = async () => assert.equal(await find(harness, absent), null);
  await stillAbsent();
  await stillAbsent();
  await withMember(harness, person, async (member) => {
    const first = await find(harness, person);
    assert.deepEqual(await find(harness, person), first);
    assert.equal(first?.id, member.id);
    for (let turn = 0; turn < 2; turn += 1) {
      await adapter.check(signalOf(harness));
      await assertListed(harness, member.id, 1);
      const [, there] = groups;
      if (there !== undefined) await remove(harness, { id: member.id, email: member.email }, there);
      await stillAbsent();
    }
    assert.deepEqual(await find(harness, person), first);
  });
}

async function leavesAlone(harness: ConformanceHarness): Promise<void> {
  const person = harness.person(18);
  const before = { ...person, email: person.email.replace(/^./, (first) => first.toUpperCase()) };
  await harness.seed?.(harness.groups[0], before);
  const found = await find(harness, person);
  assert.ok(found, 'a member from before is found');
  try {
    assert.equal((await add(harness, person)).id, found.id);
    await assertListed(harness, found.id, 1);
  } finally {
    await cleanUp(harness, found);
  }
  assert.equal(await find(harness, person), null);
}

async function outgrowsIds(harness: ConformanceHarness): Promise<void> {
  const [gone, person] = [harness.person(19), harness.person(34)];
  const { id: memberId } = await add(harness, gone);
  await remove(harness, { id: memberId, email: gone.email });
  await cleanUp(harness, { id: memberId, email: gone.email });
  await withMember(harness, person, async (member) => {
    assert.equal((await find(harness, { ...person, memberId }))?.id, member.id);
  });
}

async function endsAssignments(harness: ConformanceHarness): Promise<void> {
  const { adapter, groups } = harness;
  const person = harness.person(37);
  const end = async (member: Member, project: string | null) => {
    for (let parts = 0; parts < 100; parts += 1) {
      const left = await adapter.endAssignments?.(groups[0], member, project, signalOf(harness));
      if (left === 'done') return;
    }
    assert.fail('there is always more to end');
  };
  await withMember(harness, person, async (member) => {
    await end(member, '1');
    assert.equal((await find(harness, { ...person, memberId: member.id }))?.id, member.id);
    await remove(harness, member);
    await end(member, null);
    assert.equal(await find(harness, person), null);
  });
}

async function endsLogin(harness: ConformanceHarness): Promise<void> {
  const [one, two] = [harness.person(35), harness.person(36)];
  await withMember(harness, one, async (first) => {
    await withMember(harness, two, async (second) => {
      const end = () => harness.adapter.removeAccount?.(harness.groups[0], first, signalOf(harness));
      await end();
      assert.equal(await find(harness, one), null);
      await end();
      assert.equal((await find(harness, two))?.id, second.id);
    });
  });
}

async function invites(harness: ConformanceHarness): Promise<void> {
  const { adapter, groups } = harness;
  const person = harness.person(33);
  const invite = () => adapter.addMember(groups[0], person, signalOf(harness));
  const { id, email, isInvited, isUnlisted, invitation } = await invite();
  assert.deepEqual({ email, isInvited, isUnlisted }, { ...invited, email: person.email });
  assert.equal(id, `invited:${person.trainerId}`);
  assert.equal((await invite()).id, id);
  assert.ok(invitation?.kind === 'link' && /^https?:\/\//.test(invitation.url));
  const renewed = await adapter.renewInvitation?.(groups[0], { id, email }, signalOf(harness));
  assert.equal(renewed?.kind, 'link');
  assert.equal(await find(harness, { ...person, memberId: id }), null);
  await remove(harness, { id, email });
}

const invited = { isInvited: true, isUnlisted: true };
