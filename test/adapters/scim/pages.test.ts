import { describe, expect, it } from 'vitest';
import { readScimPages } from '../../../src/adapters/scim/users.ts';
import { listAll } from '../../support/list-all.ts';
import type { ScimDialect } from '../../support/scim-dialect.ts';
import { scimAdapter } from '../../support/scim-settings.ts';
import { openScimTool } from '../../support/scim-tool.ts';

const { signal } = new AbortController();
const group = 'street-signs';

const page = (total: unknown, ...ids: string[]) => ({
  totalResults: total,
  Resources: ids.map((id) => ({ id })),
});

/** Reads pages that are answered one after the other. @returns the ids, and the start of each request */
async function readAll(...pages: unknown[]) {
  const starts: number[] = [];
  const read = readScimPages('list the accounts', async (startIndex) => {
    starts.push(startIndex);
    return pages[starts.length - 1];
  });
  const ids = (await Array.fromAsync(read)).map(({ id }) => id);
  return { ids, starts };
}

describe('reading pages', () => {
  it('counts from 1, and continues after the items it got', async () => {
    const read = await readAll(page(5, 'a', 'b'), page(5, 'c'), page(5, 'd', 'e'));
    expect(read).toEqual({ ids: ['a', 'b', 'c', 'd', 'e'], starts: [1, 3, 4] });
  });

  it.each([
    ['Resources left out', { totalResults: 0 }, []],
    ['no Resources', page(0), []],
    ['more than were asked for', page(2, 'a', 'b', 'c'), ['a', 'b', 'c']],
    ['a total that is a text, and ids that are numbers', { totalResults: '1', Resources: [{ id: 7 }] }, ['7']],
  ])('ends after %s', async (_what, answer, ids) => {
    expect(await readAll(answer)).toEqual({ ids, starts: [1] });
  });

  it.each([
    ['a list that ends early', [page(3, 'a'), page(3)], 'unavailable', 'the list ended at 1 of 3'],
    ['a page again', [page(4, 'a', 'b'), page(4, 'a', 'b')], 'invalid', 'a page begins like one before it'],
    ['an older page again', [page(9, 'a'), page(9, 'b'), page(9, 'a')], 'invalid', 'begins like one'],
    ['a page of something else', ['<html>'], 'invalid', 'the answer is not a SCIM list'],
    ['an empty answer', [undefined], 'invalid', 'the answer is not a SCIM list'],
    ['no total', [{ Resources: [] }], 'invalid', 'the answer is not a SCIM list'],
    ['one without an id', [{ totalResults: 1, Resources: [{}] }], 'invalid', 'an entry of the list has no id'],
  ])('does not take %s for the end of the list', async (_what, pages, code, message) => {
    await expect(readAll(...pages)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });

  it('ends even if there is always another page', async () => {
    const read = readScimPages('list the accounts', async (startIndex) => page(1e9, `id${startIndex}`));
    await expect(Array.fromAsync(read)).rejects.toThrow('over 10000 pages');
  });
});

describe('listing the members', () => {
  async function openCrowd(dialect: ScimDialect) {
    const tool = await openScimTool(dialect, [group]);
    const ids = Array.from({ length: 7 }, (_, index) =>
      tool.seed({ userName: `${index}@x.example` }, index % 2 === 0 ? group : undefined),
    ).filter((_, index) => index % 2 === 0);
    const idsOf = async () => (await listAll(scimAdapter(tool), group, signal)).map(({ id }) => id);
    return { tool, ids, idsOf };
  }

  it('reads all pages of a server that returns fewer than requested', async () => {
    const { ids, idsOf } = await openCrowd({ pageSize: 2 });
    expect(await idsOf()).toEqual(ids);
  });

  it('requests no page after the last, because some servers begin again', async () => {
    const { ids, idsOf, tool } = await openCrowd({ pageSize: 2, firstPage: 'past_the_end' });
    expect(await idsOf()).toEqual(ids);
    expect(tool.requests.filter(({ line }) => line.startsWith('GET /Users?'))).toHaveLength(4);
  });

  it('fails if every page is the first one', async () => {
    const { idsOf } = await openCrowd({ pageSize: 2, firstPage: 'always' });
    await expect(idsOf()).rejects.toThrow('the server may not know "startIndex"');
  });

  it('requests at most as many at a time as the server allows', async () => {
    const { idsOf, tool } = await openCrowd({
      config: { filter: { supported: true, maxResults: 3 } },
    });
    await idsOf();
    const lines = tool.requests.map(({ line }) => line);
    expect(lines.filter((line) => line.startsWith('GET /Users?'))).toEqual([
      'GET /Users?startIndex=1&count=3',
      'GET /Users?startIndex=4&count=3',
      'GET /Users?startIndex=7&count=3',
    ]);
  });

  it('lists each member once, without inactive and deleted ones', async () => {
    const { ids, idsOf, tool } = await openCrowd({});
    tool.seedMember(group, ids[0] ?? '');
    tool.seedMember(group, 'deleted');
    tool.seed({ userName: 'inactive@x.example', active: false }, group);
    expect(await idsOf()).toEqual(ids);
  });

  it('finds no member if the group is missing, after checking that the list can be read', async () => {
    const tool = await openScimTool({ absentIs404: true }, ['another']);
    expect(await listAll(scimAdapter(tool), group, signal)).toEqual([]);
    const lost = scimAdapter({ ...tool, url: `${tool.url}/wrong` });
    await expect(listAll(lost, group, signal)).rejects.toMatchObject({ code: 'not_found' });
  });
});
