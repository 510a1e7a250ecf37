import { describe, expect, it } from 'vitest';
import { type ListingPage, readPages } from '../../src/marketplace/read-pages.ts';

const limit = 3;

type PageSaid = [ids: string, nextCursor?: string | null | undefined, hasMore?: boolean];

/** Answers with these pages in turn: ids, then the cursor to the next page. */
async function read(...pages: PageSaid[]) {
  const asked: (string | undefined)[] = [];
  const listing = await readPages(
    async (cursor): Promise<ListingPage<{ id: string; page: number }>> => {
      asked.push(cursor);
      const [ids, nextCursor, hasMore] = pages[asked.length - 1] ?? ['', null];
      const records = [...ids].map((id) => ({ id, page: asked.length }));
      return { records, nextCursor, hasMore };
    },
    { keyOf: ({ id }) => id, limit },
  );
  const { records, isComplete } = listing;
  return { asked, records, ids: records.map(({ id }) => id).join(''), isComplete };
}

describe('a listing', () => {
  it('without pages is complete if it has fewer records than requested', async () => {
    expect(await read([''])).toMatchObject({ ids: '', isComplete: true });
    expect(await read(['ab'])).toMatchObject({ ids: 'ab', isComplete: true });
    expect(await read(['ab', null])).toMatchObject({ ids: 'ab', isComplete: true });
  });

  it.each([
    ['abc', undefined],
    ['abc', null],
    ['abc', ''],
    ['abcd', undefined],
  ])('that is one full page, %s with the cursor %j, may be truncated', async (ids, nextCursor) => {
    expect(await read([ids, nextCursor])).toMatchObject({ ids, isComplete: false });
  });

  it('is not complete if it says that there is more without a cursor', async () => {
    expect(await read(['ab', null, true])).toMatchObject({ ids: 'ab', isComplete: false });
    expect(await read(['ab', null, false])).toMatchObject({ ids: 'ab', isComplete: true });
  });

  it('is read by its cursors to the end, which may be a full page', async () => {
    expect(await read(['abc', 'x'], ['def', 'y'], ['ghi', null])).toMatchObject({
      asked: [undefined, 'x', 'y'],
      ids: 'abcdefghi',
      isComplete: true,
    });
    expect(await read(['ab', 'x'], ['cd', 'y'], ['e'])).toMatchObject({ isComplete: true });
  });

  it('is incomplete if a page repeats a record, whose first version is kept', async () => {
    const { records, isComplete } = await read(['abc', 'x'], ['cde', null]);
    expect(records.map(({ id, page }) => id + page)).toEqual(['a1', 'b1', 'c1', 'd2', 'e2']);
    expect(isComplete).toBe(false);
  });

  it.each([
    ['a smaller page before the last', ['abc', 'x'], ['de', 'y'], ['f', null]],
    ['an empty page in the middle', ['abc', 'x'], ['', 'y'], ['def', null]],
    ['an empty page at the end', ['abc', 'x'], ['', null]],
    ['an empty page at the beginning', ['', 'x'], ['abc', null]],
  ] as [string, ...PageSaid[]][])('that shrinks is not complete: %s', async (_, ...pages) => {
    const { asked, isComplete } = await read(...pages);
    expect(asked).toHaveLength(pages.length);
    expect(isComplete).toBe(false);
  });

  it('is given up if its cursors form a circle', async () => {
    const round = await read(['abc', 'x'], ['def', 'y'], ['ghi', 'x'], ['jkl', 'z']);
    expect(round).toMatchObject({ asked: [undefined, 'x', 'y'], isComplete: false });
  });

  it('is given up if it does not end', async () => {
    let asked = 0;
    const listing = await readPages(
      async () => {
        asked += 1;
        return { records: [{ id: asked }], nextCursor: `c${asked}` };
      },
      { keyOf: ({ id }) => String(id) },
    );
    expect([asked, listing.records.length, listing.isComplete]).toEqual([1000, 1000, false]);
  });
});

describe('the caller of a listing', () => {
  it('decides after each page but the last whether to go on', async () => {
    const asked: string[] = [];
    const pages: ListingPage<string>[] = [
      { records: ['a', 'b'], nextCursor: '1' },
      { records: ['c', 'd'], nextCursor: '2' },
      { records: ['e'], nextCursor: null },
    ];
    const readUntil = (last: string) =>
      readPages(async (cursor) => pages[Number(cursor ?? 0)] ?? { records: [] }, {
        keyOf: (record) => record,
        wantsMore(page) {
          asked.push(page.join(''));
          return !page.includes(last);
        },
      });
    expect(await readUntil('d')).toEqual({ records: ['a', 'b', 'c', 'd'], isComplete: false });
    expect(asked).toEqual(['ab', 'cd']);
    expect(await readUntil('e')).toMatchObject({ isComplete: true });
  });
});
