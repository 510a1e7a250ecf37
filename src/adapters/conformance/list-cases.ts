import assert from 'node:assert/strict';
import type { Member } from '../adapter.ts';
import { type Bench, type ConformanceCase, toCase } from './harness.ts';

/** Lists, and groups with more people than a page of the tool holds. */
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
    ({ adapter }) => adapter.listMembers === undefined && 'the adapter has no list',
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

/** Greater than the numbers of people in all other cases. */
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
    // A removal also finds the last member of the list, and removes no other.
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
