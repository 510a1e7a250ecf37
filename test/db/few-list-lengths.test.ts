import { expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { inFewLengths } from '../../src/db/few-list-lengths.ts';
import { keyIn } from '../../src/db/key-in.ts';
import { openForTest, sqlite } from '../support/databases.ts';

const lengths = [0, 1, 2, 7, 8, 9, 100, 1023, 1024, 1025];
const keysOf = (length: number) =>
  Array.from({ length }, (_, index) => ({ install: 'acme', contractId: `contract${index}` }));
const idsOf = (length: number) => keysOf(length).map(({ contractId }) => contractId);

async function openFilled(): Promise<Database['kysely']> {
  const { kysely } = openForTest(await sqlite.createMigrated());
  const rows = keysOf(1500).map((key) => ({ ...key, linkId: 'link' }));
  for (const half of [rows.slice(0, 750), rows.slice(750)]) {
    await kysely.insertInto('contractLink').values(half).execute();
  }
  return kysely;
}

const select = (kysely: Database['kysely']) => kysely.selectFrom('contractLink').select('contractId');
const within = (kysely: Database['kysely'], ids: string[]) => select(kysely).where('contractId', 'in', ids);
const byKey = (kysely: Database['kysely'], keys: object[]) =>
  select(kysely).where(keyIn(['install', 'contractId'], keys));

it('a list of any length in a query has what it had', async () => {
  const kysely = await openFilled();
  for (const length of lengths) {
    const found = await within(kysely, idsOf(length)).execute();
    expect(found.map(({ contractId }) => contractId).toSorted()).toEqual(idsOf(length).toSorted());
    const others = await select(kysely).where('contractId', 'not in', idsOf(length)).execute();
    expect(others).toHaveLength(1500 - length);
    if (length === 0) continue;
    const ofKeys = await byKey(kysely, keysOf(length)).execute();
    expect(ofKeys.map(({ contractId }) => contractId).toSorted()).toEqual(idsOf(length).toSorted());
  }
});

it('lists of every length are few statements', async () => {
  const kysely = await openFilled();
  const every = Array.from({ length: 64 }, (_, index) => index + 1);
  expect(new Set(every.map((length) => within(kysely, idsOf(length)).compile().sql)).size).toBe(11);
  expect(new Set(every.map((length) => byKey(kysely, keysOf(length)).compile().sql)).size).toBe(11);
});

it('rows to insert stay as they are', async () => {
  const kysely = await openFilled();
  const rows = keysOf(9).map((key) => ({ ...key, linkId: 'other' }));
  expect(kysely.insertInto('contractLink').values(rows).compile().parameters).toHaveLength(27);
});

it.each([
  [0, []],
  [1, [1]],
  [7, [4, 2, 1]],
  [150, [64, 64, 16, 4, 2]],
])('%i rows are inserted in parts of few lengths', (count, expected) => {
  const rows = keysOf(count);
  const parts = inFewLengths(rows);
  expect(parts.flat()).toEqual(rows);
  expect(parts.map(({ length }) => length)).toEqual(expected);
});
