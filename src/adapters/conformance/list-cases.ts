import assert from 'node:assert/strict';
import type { Member, Person } from '../adapter.ts';
import {
  add,
  assertListed,
  type ConformanceCase,
  type ConformanceHarness,
  cleanUp,
  find,
  list,
  remove,
  signalOf,
  skipsWithoutList,
  withMember,
} from './harness.ts';

/** Lists, and groups with more people than a page of the tool holds. */
export const listCases: readonly ConformanceCase[] = [
  { name: 'lists each member that it finds, once', skip: skipsWithoutList, run: listsEachOnce },
  {
    name: 'lists as newcomers the people who came, and not those who are gone',
    skip: ({ adapter }) => (adapter.listNewcomers === undefined ? 'the adapter lists no newcomers' : null),
    run: listsNewcomers,
  },
  { name: 'finds each of several people', run: (harness) => findsAll(harness, 3) },
  {
    name: 'finds every member, on any page',
    skip: ({ crowd }) =>
      crowd === undefined ? 'needs more people than a page of the tool holds: --crowd <people>' : null,
    run: (harness) => findsAll(harness, harness.crowd ?? 0),
  },
];

async function listsEachOnce(harness: ConformanceHarness): Promise<void> {
  const [one, two] = [harness.person(11), harness.person(12)];
  await withMember(harness, one, async (first) => {
    await withMember(harness, two, async (second) => {
      const listed = await list(harness);
      const ids = listed.map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length, 'no member is listed twice');
      for (const [person, { id }] of [
        [one, first],
        [two, second],
      ] as const) {
        const entry = listed.find((member) => member.id === id);
        assert.ok(entry, 'every member is listed');
        assert.deepEqual(entry, await find(harness, person), 'the list shows the member as a look does');
      }
      for (const { email } of listed) assert.notEqual(email, '', 'an address, a name, or null');
    });
    await assertListed(harness, first.id, 1);
  });
}

async function listsNewcomers(harness: ConformanceHarness): Promise<void> {
  const { adapter, groups } = harness;
  const person = harness.person(38);
  const since = new Date().toISOString();
  const newcomers = async () => {
    const all = adapter.listNewcomers?.(groups[0], since, signalOf(harness)) ?? [];
    return (await Array.fromAsync(all)).map(({ id }) => id);
  };
  await withMember(harness, person, async (member) => {
    assert.ok((await newcomers()).includes(member.id), 'a person who came is a newcomer');
    await remove(harness, member);
    assert.ok(!(await newcomers()).includes(member.id), 'a person who is gone is no newcomer');
  });
}

/** Greater than the numbers of people in all other cases. */
const firstOfCrowd = 1000;

async function findsAll(harness: ConformanceHarness, count: number): Promise<void> {
  const people = Array.from({ length: count }, (_, index) => harness.person(firstOfCrowd + index));
  const members: Member[] = [];
  try {
    for (const person of people) members.push(await add(harness, person));
    assert.equal(new Set(members.map(({ id }) => id)).size, people.length, 'each has an id');
    await assertAllListed(harness, members);
    for (const [index, person] of people.entries()) {
      const { id: memberId = '' } = members[index] ?? {};
      assert.equal((await find(harness, person))?.id, memberId, `number ${index + 1}`);
      const known = await find(harness, { ...person, memberId });
      assert.equal(known?.id, memberId, `number ${index + 1}, by id`);
    }
    await removesTheLast(harness, people, members);
  } finally {
    for (const member of members) await cleanUp(harness, member);
  }
}

async function assertAllListed(harness: ConformanceHarness, members: Member[]): Promise<void> {
  if (harness.adapter.listMembers === undefined) return;
  const listed = (await list(harness)).map(({ id }) => id);
  const times = members.map(({ id }) => listed.filter((one) => one === id).length);
  assert.deepEqual(times, Array(members.length).fill(1), 'each is listed once');
}

/** A removal also finds the last member of the list, and removes no other. */
async function removesTheLast(harness: ConformanceHarness, people: Person[], members: Member[]): Promise<void> {
  const [member, person] = [members.at(-1), people.at(-1)];
  if (member === undefined || person === undefined) return;
  await remove(harness, member);
  assert.equal(await find(harness, person), null, 'the last is out');
  await assertListed(harness, member.id, 0);
  await assertAllListed(harness, members.slice(0, -1));
}
