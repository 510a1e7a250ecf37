import assert from 'node:assert/strict';
import type { Member } from '../adapter.ts';
import {
  add,
  assertListed,
  type ConformanceCase,
  type ConformanceHarness,
  cleanUp,
  find,
  list,
  skipsWithoutList,
  withMember,
} from './harness.ts';

/** Lists, and groups of more people than a tool shows at a time. */
export const listCases: readonly ConformanceCase[] = [
  { name: 'lists whom it finds, once each', skip: skipsWithoutList, run: listsWhomItFinds },
  { name: 'finds everybody, on whichever page they stand', run: findsTheLast },
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

async function findsTheLast(harness: ConformanceHarness): Promise<void> {
  const people = Array.from({ length: harness.crowd ?? 3 }, (_, index) =>
    harness.person(50 + index),
  );
  const members: Member[] = [];
  try {
    for (const person of people) members.push(await add(harness, person));
    for (const [index, person] of people.entries()) {
      assert.equal((await find(harness, person))?.id, members[index]?.id, `number ${index + 1}`);
      await assertListed(harness, members[index]?.id ?? '', 1);
    }
    assert.equal(new Set(members.map(({ id }) => id)).size, people.length, 'each has an id');
  } finally {
    for (const member of members) await cleanUp(harness, member);
  }
}
