import assert from 'node:assert/strict';
import type { Member } from '../adapter.ts';
import { type Bench, type ConformanceCase, toCase } from './harness.ts';

/** Memberships: adding, finding, removing. */
export const membershipCases: readonly ConformanceCase[] = [
  toCase('does not find a person who was never added', async ({ toPerson, groups, find }) => {
    for (const group of groups) assert.equal(await find(toPerson(1), group), null);
  }),

  toCase('finds the member it added, under the same id', async ({ toPerson, withMember, find }) => {
    const person = toPerson(2);
    await withMember(person, async ({ id }) => {
      assert.equal(typeof id, 'string');
      assert.notEqual(id, '');
      assert.equal((await find(person))?.id, id);
      assert.equal((await find({ ...person, memberId: id }))?.id, id);
      assert.equal((await find({ ...person, displayName: 'Renamed' }))?.id, id);
    });
  }),

  toCase('gives the same answer each time it is asked', async (bench) => {
    const { adapter, groups, signal, find, remove, assertListed } = bench;
    const [person, absent] = [bench.toPerson(16), bench.toPerson(17)];
    const stillAbsent = async () => assert.equal(await find(absent), null);
    await stillAbsent();
    await stillAbsent();
    await bench.withMember(person, async ({ id, email }) => {
      const first = await find(person);
      assert.deepEqual(await find(person), first);
      assert.equal(first?.id, id);
      for (let turn = 0; turn < 2; turn += 1) {
        await adapter.check(signal());
        await assertListed(id, 1);
        const [, there] = groups;
        if (there !== undefined) await remove({ id, email }, there);
        await stillAbsent();
      }
      assert.deepEqual(await find(person), first);
    });
  }),

  toCase(
    'adds a person twice and has one member',
    async ({ toPerson, withMember, add, find, remove, assertListed }) => {
      const person = toPerson(3);
      await withMember(person, async (member) => {
        assert.equal((await add({ ...person, memberId: member.id })).id, member.id);
        assert.equal((await add(person)).id, member.id);
        await assertListed(member.id, 1);
        await remove(member);
        assert.equal(await find(person), null, 'one removal undoes two additions');
      });
    },
  ),

  toCase('ignores the case of an address', async ({ toPerson, withMember, add, find, assertListed }) => {
    const person = toPerson(4);
    const shouted = { ...person, email: person.email.toUpperCase() };
    await withMember(shouted, async ({ id }) => {
      assert.equal((await find(person))?.id, id);
      assert.equal((await find(shouted))?.id, id);
      assert.equal((await add(person)).id, id);
      await assertListed(id, 1);
    });
  }),

  toCase(
    'finds a member from before, and does not add them a second time',
    async ({ harness, toPerson, firstGroup, add, find, cleanUp, assertListed }) => {
      const person = toPerson(18);
      const before = { ...person, email: person.email.replace(/^./, (first) => first.toUpperCase()) };
      await harness.seed?.(firstGroup, before);
      const found = await find(person);
      assert.ok(found, 'a member from before is found');
      try {
        assert.equal((await add(person)).id, found.id);
        await assertListed(found.id, 1);
      } finally {
        await cleanUp(found);
      }
      assert.equal(await find(person), null);
    },
    ({ seed }) => !seed && 'only the adapter can add a member here',
  ),

  toCase('finds a member by address if their old id leads to no account', async (bench) => {
    const [gone, person] = [bench.toPerson(19), bench.toPerson(34)];
    const { id: memberId } = await bench.add(gone);
    await bench.remove({ id: memberId, email: gone.email });
    await bench.cleanUp({ id: memberId, email: gone.email });
    await bench.withMember(person, async ({ id }) => {
      assert.equal((await bench.find({ ...person, memberId }))?.id, id);
    });
  }),

  toCase(
    'does not find a removed member, even by their id',
    async ({ toPerson, withMember, find, remove, assertListed }) => {
      const person = toPerson(5);
      await withMember(person, async (member) => {
        await remove(member);
        assert.equal(await find(person), null);
        assert.equal(await find({ ...person, memberId: member.id }), null);
        await assertListed(member.id, 0);
      });
    },
  ),

  toCase('removes a member who is out already without an error', async ({ toPerson, withMember, find, remove }) => {
    const person = toPerson(6);
    await withMember(person, async (member) => {
      await remove(member);
      await remove(member);
      assert.equal(await find(person), null);
    });
  }),

  toCase(
    'removes a member from no other group',
    async ({ groups: [here, there = ''], toPerson, withMember, add, find, remove }) => {
      const person = toPerson(7);
      await withMember(person, async (member) => {
        assert.equal(await find(person, there), null);
        // They are not in that group, so this changes nothing in either group.
        await remove(member, there);
        assert.equal((await find(person))?.id, member.id);

        const other = await add(person, there);
        try {
          await remove(member, here);
          assert.equal(await find(person), null);
          assert.equal((await find(person, there))?.id, other.id);
        } finally {
          await remove(other, there);
        }
      });
    },
    ({ groups }) => groups[1] === undefined && 'the tool has one group',
  ),

  toCase('removes no other member of the group', async ({ toPerson, withMember, find, remove }) => {
    const [one, two] = [toPerson(8), toPerson(9)];
    await withMember(one, async (first) => {
      await withMember(two, async (second) => {
        assert.notEqual(first.id, second.id);
        await remove(first);
        assert.equal(await find(one), null);
        assert.equal((await find(two))?.id, second.id);
      });
    });
  }),

  toCase(
    'adds a removed member again',
    async ({ toPerson, withMember, add, find, remove }) => {
      const person = toPerson(10);
      await withMember(person, async (member) => {
        await remove(member);
        const returned = await add({ ...person, memberId: member.id });
        assert.equal((await find(person))?.id, returned.id);
        await remove(returned);
      });
    },
    ({ adapter }) =>
      adapter.capabilities.readding !== 'yes' && 'the adapter says that it cannot, or not with the same id',
  ),

  toCase(
    'invites a person the tool does not know, under an id of their own',
    async ({ adapter, firstGroup, toPerson, signal, find, remove }) => {
      const person = toPerson(33);
      const invite = () => adapter.addMember(firstGroup, person, signal());
      const { id, email, isInvited, isUnlisted, invitation } = await invite();
      assert.deepEqual([email, isInvited, isUnlisted], [person.email, true, true]);
      assert.equal(id, `invited:${person.trainerId}`);
      assert.equal((await invite()).id, id);
      assert.ok(invitation?.kind === 'link' && /^https?:\/\//.test(invitation.url));
      const renewed = await adapter.renewInvitation?.(firstGroup, { id, email }, signal());
      assert.equal(renewed?.kind, 'link');
      assert.equal(await find({ ...person, memberId: id }), null);
      await remove({ id, email });
    },
    ({ adapter }) => adapter.capabilities.invitation !== 'shared' && 'the tool knows the people it invited',
  ),

  toCase(
    'ends the assignments of a member who has none, and finishes',
    async ({ adapter, firstGroup, toPerson, signal, withMember, find, remove }) => {
      const person = toPerson(37);
      const end = async (member: Member, project: string | null) => {
        for (let parts = 0; parts < 100; parts += 1) {
          const left = await adapter.endAssignments?.(firstGroup, member, project, signal());
          if (left === 'done') return;
        }
        assert.fail('there is always more to end');
      };
      await withMember(person, async (member) => {
        await end(member, '1');
        assert.equal((await find({ ...person, memberId: member.id }))?.id, member.id);
        await remove(member);
        await end(member, null);
        assert.equal(await find(person), null);
      });
    },
    ({ adapter }) => adapter.endAssignments === undefined && 'the adapter ends no assignments',
  ),

  toCase(
    'ends a login, and no other',
    async ({ adapter, firstGroup, toPerson, signal, withMember, find }) => {
      const [one, two] = [toPerson(35), toPerson(36)];
      await withMember(one, async (first) => {
        await withMember(two, async (second) => {
          const end = () => adapter.removeAccount?.(firstGroup, first, signal());
          await end();
          assert.equal(await find(one), null);
          await end();
          assert.equal((await find(two))?.id, second.id);
        });
      });
    },
    ({ adapter }) => adapter.removeAccount === undefined && 'the adapter ends no logins',
  ),
];

export const listCases: readonly ConformanceCase[] = [
  toCase(
    'lists each member that it finds, once',
    async ({ toPerson, withMember, list, find, assertListed }) => {
      const [one, two] = [toPerson(11), toPerson(12)];
      await withMember(one, async (first) => {
        await withMember(two, async (second) => {
          const listed = await list();
          const ids = listed.map(({ id }) => id);
          assert.equal(new Set(ids).size, ids.length, 'no member is listed twice');
          for (const [person, { id }] of [
            [one, first],
            [two, second],
          ] as const) {
            const entry = listed.find((member) => member.id === id);
            assert.ok(entry, 'every member is listed');
            assert.deepEqual(entry, await find(person), 'the list shows the member as a look does');
          }
          for (const { email } of listed) assert.notEqual(email, '', 'an address, a name, or null');
        });
        await assertListed(first.id, 1);
      });
    },
    ({ adapter }) => adapter.listMembers === undefined && 'the adapter lists no members',
  ),

  toCase(
    'lists as newcomers the people who came, and not those who are gone',
    async ({ adapter, firstGroup, toPerson, signal, withMember, remove }) => {
      const since = new Date().toISOString();
      const newcomers = async () => {
        const all = adapter.listNewcomers?.(firstGroup, since, signal()) ?? [];
        return (await Array.fromAsync(all)).map(({ id }) => id);
      };
      await withMember(toPerson(38), async (member) => {
        assert.ok((await newcomers()).includes(member.id), 'a person who came is a newcomer');
        await remove(member);
        assert.ok(!(await newcomers()).includes(member.id), 'a person who is gone is no newcomer');
      });
    },
    ({ adapter }) => adapter.listNewcomers === undefined && 'the adapter lists no newcomers',
  ),

  toCase('finds each of several people', (bench) => findsAll(bench, 3)),
  toCase(
    'finds every member, on any page',
    (bench) => findsAll(bench, bench.harness.crowd ?? 0),
    ({ crowd }) => crowd === undefined && 'needs more people than a page of the tool holds: --crowd <people>',
  ),
];

/** Above the numbers of people in all other cases. */
const firstOfCrowd = 1000;

async function findsAll(bench: Bench, count: number): Promise<void> {
  const { find, remove } = bench;
  const people = Array.from({ length: count }, (_, index) => bench.toPerson(firstOfCrowd + index));
  const members: Member[] = [];
  try {
    for (const person of people) members.push(await bench.add(person));
    assert.equal(new Set(members.map(({ id }) => id)).size, people.length, 'each has an id');
    await assertAllListed(bench, members);
    for (const [index, person] of people.entries()) {
      const { id: memberId = '' } = members[index] ?? {};
      assert.equal((await find(person))?.id, memberId, `number ${index + 1}`);
      assert.equal((await find({ ...person, memberId }))?.id, memberId, `number ${index + 1}, by id`);
    }
    // A removal finds the last member of the list too, and removes nobody else.
    const [member, person] = [members.at(-1), people.at(-1)];
    if (member === undefined || person === undefined) return;
    await remove(member);
    assert.equal(await find(person), null, 'the last is out');
    await bench.assertListed(member.id, 0);
    await assertAllListed(bench, members.slice(0, -1));
  } finally {
    for (const member of members) await bench.cleanUp(member);
  }
}

async function assertAllListed({ adapter, list }: Bench, members: Member[]): Promise<void> {
  if (adapter.listMembers === undefined) return;
  const listed = (await list()).map(({ id }) => id);
  const times = members.map(({ id }) => listed.filter((one) => one === id).length);
  assert.deepEqual(times, Array(members.length).fill(1), 'each is listed once');
}
