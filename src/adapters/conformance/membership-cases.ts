import assert from 'node:assert/strict';
import type { Member } from '../adapter.ts';
import { type ConformanceCase, toCase } from './harness.ts';

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
        // They are not in that group, so this changes nothing, also in the other group.
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
    ({ adapter }) => adapter.capabilities.readding !== 'yes' && 'the adapter says that it cannot, under the same id',
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
