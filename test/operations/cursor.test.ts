import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pageById, pageByKey, readCursor, writeCursor } from '../../src/operations/cursor.ts';

const isAny = (key: readonly unknown[]): key is readonly (string | number)[] => key.length > 0;

describe('a cursor', () => {
  it('gives back the key that it was written with, for its own list alone', () => {
    const part = fc.oneof(fc.string(), fc.nat());
    fc.assert(
      fc.property(fc.array(part, { minLength: 1 }), (key) => {
        const cursor = writeCursor('a', key);
        expect(cursor).toMatch(/^[\w-]+$/);
        expect(readCursor('a', cursor, isAny)).toEqual(key);
        expect(() => readCursor('b', cursor, isAny)).toThrow('not one that this list has given');
      }),
    );
  });

  it('is refused where it is anything else', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.json()), (text) => {
        expect(() => readCursor('a', text, isAny)).toThrow('not one that this list has given');
        const hidden = Buffer.from(text).toString('base64url');
        expect(() => readCursor('a', `${hidden}==`, isAny)).toThrow('not one that this list has given');
      }),
    );
  });

  it.each(['a\0', '\ud800'])('is refused where it holds a text that PostgreSQL does not take: %j', (part) => {
    const cursor = writeCursor('a', [part]);
    expect(() => readCursor('a', cursor, isAny)).toThrow('not one that this list has given');
  });
});

describe('a page', () => {
  const rows = [5, 4, 3, 2, 1].map((id) => ({ id, name: `row ${9 - id}` }));

  it('has as many rows as are asked for, and the cursor of the next one', async () => {
    const find = async (before = 9, limit = 0) => rows.filter(({ id }) => id < before).slice(0, limit);
    const first = await pageById('rows', { limit: 2 }, find);
    expect(first.items).toEqual(rows.slice(0, 2));
    const second = await pageById('rows', { limit: 3, cursor: first.next ?? '' }, find);
    expect(second).toEqual({ items: rows.slice(2), next: null });
    expect(await pageById('rows', {}, find)).toEqual({ items: rows, next: null });
    const other = { limit: 2, cursor: writeCursor('rows', ['5']) };
    await expect(pageById('rows', other, find)).rejects.toThrow('not one that this list has given');
  });

  it('of a list that is ordered by texts begins after the last row too', async () => {
    const find = async (after: readonly string[] | undefined, limit: number) =>
      rows.filter(({ name }) => name > (after?.[0] ?? '')).slice(0, limit);
    const first = await pageByKey('rows', { limit: 4, parts: 1 }, find, ({ name }) => [name]);
    expect(first.items).toEqual(rows.slice(0, 4));
    const second = await pageByKey('rows', { parts: 1, cursor: first.next ?? '' }, find, ({ name }) => [name]);
    expect(second).toEqual({ items: rows.slice(4), next: null });
    const short = { parts: 2, cursor: first.next ?? '' };
    await expect(pageByKey('rows', short, find, ({ name }) => [name])).rejects.toThrow('not one that');
  });
});
