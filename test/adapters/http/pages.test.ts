import { describe, expect, it } from 'vitest';
import type { Person } from '../../../src/adapters/adapter.ts';
import { createAdapter } from '../../../src/adapters/load-adapters.ts';
import { openHttpFake, sendJson } from '../../support/http-fake.ts';
import { exampleSettings, sparseSettings } from '../../support/http-tool-settings.ts';
import { listAll } from '../../support/list-all.ts';

const { signal } = new AbortController();
const person: Person = { trainerId: 'cmu1', email: 'amara@opentrain.work', displayName: null, memberId: null };

const none = 'none';
const byPage = { by: 'page', query: 'page' };
const items = (...ids: number[]) => ids.map((id) => ({ id, user: { email: `${id}@x.example` } }));

/** A tool that answers each request for its list in turn. */
async function openList(
  answerTo: (count: number) => { body: unknown; status?: number; headers?: object },
  pages: object | 'none',
  more: object = {},
) {
  const fake = await openHttpFake((_, response, count) => {
    const { body, status, headers } = answerTo(count);
    sendJson(response, body, status, headers);
  });
  const settings = sparseSettings({ url: fake.url, token: 'hunter2' }, 'page');
  const list = { ...settings.requests['list'], pages, ...more };
  const requests = { ...settings.requests, list };
  return { ...fake, adapter: createAdapter('studio', 'http', { ...settings, requests }) };
}

describe('a list', () => {
  it('without a total ends at the first empty page, because a short page proves nothing', async () => {
    const pages = [items(1, 2), items(3), items(4, 5), []];
    const { adapter, requests } = await openList((count) => ({ body: { data: pages[count - 1] } }), {
      ...byPage,
      first: 0,
    });
    const ids = (await listAll(adapter, 'signs', signal)).map(({ id }) => id);
    expect(ids).toEqual(['1', '2', '3', '4', '5']);
    expect(requests.map(({ line }) => line.split('page=')[1])).toEqual(['0', '1', '2', '3']);
  });

  it('lists a member once who moved to another page while it was read', async () => {
    const pages = [items(1, 2), items(2, 3), []];
    const { adapter } = await openList((count) => ({ body: { data: pages[count - 1] } }), byPage);
    expect(await listAll(adapter, 'signs', signal)).toHaveLength(3);
  });

  const byTotal = { ...byPage, total: 'total' };
  const byLink = { by: 'link', at: 'next' };

  it.each<[string, object | 'none', unknown[], string, string]>([
    ['that repeats itself', byPage, [{ data: items(1) }], 'invalid', 'the same as the one before'],
    [
      'that ends before its total',
      byTotal,
      [
        { data: items(1), total: 2 },
        { data: [], total: 2 },
      ],
      ...(['unavailable', 'ended at 1 of 2'] as const),
    ],
    ['without its total', byTotal, [{ data: items(1) }], 'invalid', '"total" is not a number'],
    [
      'that goes on at another server',
      byLink,
      [{ data: items(1), next: 'https://evil.example/' }],
      ...(['invalid', 'on another server'] as const),
    ],
    [
      'that goes on at another port',
      byLink,
      [{ data: items(1), next: 'http://127.0.0.1:1/' }],
      ...(['invalid', 'on another server'] as const),
    ],
    ['whose next link is not a text', byLink, [{ data: [], next: { a: 1 } }], 'invalid', 'is not a text'],
    ['that is null', none, [{ data: null }], 'invalid', 'there is no list at "items"'],
    ['at another place', none, [{ members: [] }], 'invalid', 'there is no list at "items"'],
    ['with an entry without an id', none, [{ data: [{}] }], 'invalid', 'no id at "id"'],
  ])('%s is an error, never an end', async (_what, pages, answers, code, said) => {
    const open = () => openList((count) => ({ body: answers[Math.min(count, answers.length) - 1] }), pages);
    const expected = { code, message: expect.stringContaining(said) as string };
    const [one, other] = [await open(), await open()];
    await expect(listAll(one.adapter, 'signs', signal)).rejects.toMatchObject(expected);
    await expect(other.adapter.findMember('signs', person, signal)).rejects.toMatchObject({
      code,
    });
    expect(other.requests.length).toBeLessThan(3);
  });

  it('is empty for an expected status on its first page, and an error on a later page', async () => {
    const open = (missing: number) =>
      openList((count) => ({ body: { data: items(count) }, status: count === missing ? 404 : 200 }), byPage, {
        absent: [404],
      });
    expect(await listAll((await open(1)).adapter, 'signs', signal)).toEqual([]);
    await expect(listAll((await open(2)).adapter, 'signs', signal)).rejects.toMatchObject({
      code: 'not_found',
      status: 404,
    });
  });

  it('that is missing is an error, unless the settings say what its status means', async () => {
    const { adapter } = await openList(() => ({ body: {}, status: 404 }), none);
    await expect(adapter.findMember('signs', person, signal)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('ends after a thousand pages', async () => {
    const { adapter, requests } = await openList((count) => ({ body: { data: items(count) } }), byPage);
    await expect(listAll(adapter, 'signs', signal)).rejects.toThrow('over 1000 pages');
    expect(requests).toHaveLength(1000);
  });
});

describe('a list that is read in one answer', () => {
  const two = items(1, 2);
  const signs: [string, object, object?][] = [
    ['the URL of a next page', { data: two, next: '/members?page=2' }],
    ['a next page beside the list', { data: { items: two, nextPage: 2 } }],
    ['a next page among links', { data: two, links: { self: '/x', next: { href: '/x?page=2' } } }],
    ['a next page among _links', { data: two, _links: { next: '/x?page=2' } }],
    ['a cursor', { data: two, response_metadata: { next_cursor: 'dXNlcjo=' } }],
    ['a token for the next page', { data: two, nextPageToken: 'abc' }],
    ['a link of OData', { data: two, '@odata.nextLink': 'https://x.example/?$skip=2' }],
    ['that there is more', { data: two, has_more: true }],
    ['that there is a next page', { data: two, pageInfo: { hasNextPage: true } }],
    ['a larger count', { count: 3, data: two }],
    ['a larger total', { data: two, meta: { pagination: 1, total: 3 } }],
    ['a larger total by another name', { data: two, paging: { totalCount: 120 } }],
    ['several pages', { data: two, meta: { last_page: 2 } }],
    ['a header Link', { data: two }, { link: '</x>; rel="first", </x?page=2>; rel="next"' }],
    ['a header for the total', { data: two }, { 'x-total-count': '3' }],
    ['a header for the next page', { data: two }, { 'x-next-page': '2' }],
  ];

  async function open(body: object, headers: object, pages: object | 'none' = none) {
    const items = 'data' in body && Array.isArray(body.data) ? 'data' : 'data.items';
    return await openList(() => ({ body, headers }), pages, { items });
  }

  it.each(signs)('is incomplete if it has %s', async (_what, body, headers = {}) => {
    const refused = { code: 'invalid', message: expect.stringContaining('the list is incomplete') as string };
    for (const pages of [none, { by: 'cursor', query: 'cursor', at: 'misspelt' }] as const) {
      const { adapter } = await open(body, headers, pages);
      await expect(listAll(adapter, 'signs', signal)).rejects.toMatchObject(refused);
      await expect(adapter.findMember('signs', person, signal)).rejects.toMatchObject(refused);
    }
  });

  it.each<[string, object, object?]>([
    ['nothing else', { data: two }],
    ['a count of what it has', { data: two, count: 2, meta: { total: 2, totalPages: 1 } }],
    ['no next page', { data: two, next: null, links: { next: null }, meta: { nextCursor: '' } }],
    ['no more', { data: two, has_more: false, meta: { next_page: null } }],
    ['a page before it', { data: two, previous: '/x?page=1', links: { prev: { href: '/x' } } }],
    ['fields about something else', { data: two, project: { count: 9, next: 'a' }, tasks: 9 }],
    ['a header Link to itself', { data: two }, { link: '</x>; rel="self"', 'x-total-count': '2' }],
  ])('is complete if it has %s', async (_what, body, headers = {}) => {
    const { adapter } = await open(body, headers);
    expect(await listAll(adapter, 'signs', signal)).toHaveLength(2);
    expect(await adapter.findMember('signs', person, signal)).toBeNull();
  });

  it('may be one person, whose fields do not describe a list', async () => {
    const body = { id: 7, user: { email: person.email }, count: 50, next: 'a' };
    const { url } = await openHttpFake((_, response) => sendJson(response, body));
    const { list: _, ...requests } = exampleSettings({ url, token: 'hunter2' }).requests;
    const find = { ...requests['find'], items: '', pages: none };
    const settings = { ...exampleSettings({ url, token: 'hunter2' }) };
    const adapter = createAdapter('studio', 'http', {
      ...settings,
      requests: { ...requests, find },
    });
    expect(await adapter.findMember('signs', person, signal)).toMatchObject({ id: '7' });
  });
});
