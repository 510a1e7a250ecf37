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

/** Lists, and groups of more people than a tool shows at a time. */
export const listCases: readonly ConformanceCase[] = [
  { name: 'lists whom it finds, once each', skip: skipsWithoutList, run: listsWhomItFinds },
  {
    name: 'lists as newcomers those who came, and nobody who is gone',
    skip: ({ adapter }) =>
      adapter.listNewcomers === undefined ? 'the tool shows addresses, as far as it tells' : null,
    run: listsNewcomers,
  },
  { name: 'finds each of several people', run: (harness) => findsEverybody(harness, 3) },
  {
    name: 'finds everybody, on whichever page they stand',
    skip: ({ crowd }) =>
      crowd === undefined ? 'needs more people than a page of the tool holds: --crowd <people>' : null,
    run: (harness) => findsEverybody(harness, harness.crowd ?? 0),
  },
];

async function listsWhomItFinds(harness: ConformanceHarness): Promise<void> {
  const [one, two] = [harness.person(11), harness.person(12)];
  await withMember(harness, one, async (first) => {
    await withMember(harness, two, async (second) => {
      const listed = await list(harness);
      const ids = listed.map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length, 'nobody is listed twice');
      for (const [person, { id }] of [
        [one, first],
        [two, second],
      ] as const) {
        const entry = listed.find((member) => member.id === id);
        assert.ok(entry, 'whoever is in is listed');
        assert.deepEqual(entry, await find(harness, person), 'the listed is the found');
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
    assert.ok((await newcomers()).includes(member.id), 'who came is a newcomer');
    await remove(harness, member);
    assert.ok(!(await newcomers()).includes(member.id), 'who is gone is none');
  });
}

/** Beyond those of all other cases, however many they are. */
const firstOfCrowd = 1000;

async function findsEverybody(harness: ConformanceHarness, count: number): Promise<void> {
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

/** Also who stands behind all others is out, and nobody else. */
async function removesTheLast(harness: ConformanceHarness, people: Person[], members: Member[]): Promise<void> {
  const [member, person] = [members.at(-1), people.at(-1)];
  if (member === undefined || person === undefined) return;
  await remove(harness, member);
  assert.equal(await find(harness, person), null, 'the last is out');
  await assertListed(harness, member.id, 0);
  await assertAllListed(harness, members.slice(0, -1));
}
