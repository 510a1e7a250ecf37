import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { pageBy, pageById, readCursor, writeCursor } from '../../src/operations/paging.ts';

const anyKey = z.array(z.union([z.string(), z.number()])).min(1);

describe('a cursor', () => {
  it('returns its key, and only for its own list', () => {
    const part = fc.oneof(fc.string(), fc.nat());
    fc.assert(
      fc.property(fc.array(part, { minLength: 1 }), (key) => {
        const cursor = writeCursor('a', key);
        expect(cursor).toMatch(/^[\w-]+$/);
        expect(readCursor('a', cursor, anyKey)).toEqual(key);
        expect(() => readCursor('b', cursor, anyKey)).toThrow('This cursor does not belong to this list');
      }),
    );
  });

  it('is refused if it is anything else', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.json()), (text) => {
        expect(() => readCursor('a', text, anyKey)).toThrow('This cursor does not belong to this list');
        const hidden = Buffer.from(text).toString('base64url');
        expect(() => readCursor('a', `${hidden}==`, anyKey)).toThrow('This cursor does not belong to this list');
      }),
    );
  });

  it.each(['a\0', '\ud800'])('is refused if it has a text that PostgreSQL refuses: %j', (part) => {
    const cursor = writeCursor('a', [part]);
    expect(() => readCursor('a', cursor, anyKey)).toThrow('This cursor does not belong to this list');
  });
});

describe('a page', () => {
  const rows = [5, 4, 3, 2, 1].map((id) => ({ id, name: `row ${9 - id}` }));

  it('has the requested number of rows, and the cursor of the next page', async () => {
    const find = async (before = 9, limit = 0) => rows.filter(({ id }) => id < before).slice(0, limit);
    const first = await pageById('rows', { limit: 2 }, find);
    expect(first.items).toEqual(rows.slice(0, 2));
    const second = await pageById('rows', { limit: 3, cursor: first.next ?? '' }, find);
    expect(second).toEqual({ items: rows.slice(2), next: null });
    expect(await pageById('rows', {}, find)).toEqual({ items: rows, next: null });
    const other = { limit: 2, cursor: writeCursor('rows', ['5']) };
    await expect(pageById('rows', other, find)).rejects.toThrow('This cursor does not belong to this list');
  });

  it('of a list ordered by text begins after the last row too', async () => {
    const find = async (after: { name: string } | undefined, limit: number) =>
      rows.filter(({ name }) => name > (after?.name ?? '')).slice(0, limit);
    const key = { name: z.string() };
    const first = await pageBy('rows', key, { limit: 4 }, find);
    expect(first.items).toEqual(rows.slice(0, 4));
    const cursor = first.next ?? '';
    expect(await pageBy('rows', key, { cursor }, find)).toEqual({ items: rows.slice(4), next: null });
    const longer = pageBy('rows', { ...key, id: z.int() }, { cursor }, async () => rows);
    await expect(longer).rejects.toThrow('This cursor does not belong to this list');
  });
});
