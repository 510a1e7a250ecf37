import { describe, expect, it } from 'vitest';
import type { Person } from '../../../src/adapters/adapter.ts';
import { createAdapter } from '../../../src/adapters/create-adapter.ts';
import { openHttpFake, sendJson } from '../../support/http-fake.ts';
import { sparseSettings } from '../../support/http-tool-settings.ts';
import { listAll } from '../../support/list-all.ts';

const { signal } = new AbortController();
const person: Person = {
  ...{ trainerId: 'cmu1', email: 'amara@opentrain.work', displayName: null, memberId: null },
};

const byPage = { by: 'page', query: 'page' };
const items = (...ids: number[]) => ids.map((id) => ({ id, user: { email: `${id}@x.example` } }));

/** A tool of which only the list matters: what it answers to the first request, the second, … */
async function openList(
  answerTo: (count: number) => { body: unknown; status?: number },
  pages: object | undefined,
  more: object = {},
) {
  const fake = await openHttpFake((_, response, count) => {
    const { body, status } = answerTo(count);
    sendJson(response, body, status);
  });
  const settings = sparseSettings({ url: fake.url, token: 'hunter2' }, 'page');
  const list = { ...settings.requests['list'], pages, ...more };
  const requests = { ...settings.requests, list };
  return { ...fake, adapter: createAdapter('studio', 'http', { ...settings, requests }) };
}

describe('a list', () => {
  it('goes on to the first empty page without a total: a short one proves nothing', async () => {
    const pages = [items(1, 2), items(3), items(4, 5), []];
    const { adapter, requests } = await openList(
      (count) => ({ body: { data: pages[count - 1] } }),
      {
        ...byPage,
        first: 0,
      },
    );
    const ids = (await listAll(adapter, 'signs', signal)).map(({ id }) => id);
    expect(ids).toEqual(['1', '2', '3', '4', '5']);
    expect(requests.map(({ line }) => line.split('page=')[1])).toEqual(['0', '1', '2', '3']);
  });

  it('names nobody twice who moved to another page meanwhile', async () => {
    const pages = [items(1, 2), items(2, 3), []];
    const { adapter } = await openList((count) => ({ body: { data: pages[count - 1] } }), byPage);
    expect(await listAll(adapter, 'signs', signal)).toHaveLength(3);
  });

  const byTotal = { ...byPage, total: 'total' };
  const byLink = { by: 'link', at: 'next' };

  it.each<[string, object | undefined, unknown[], string, string]>([
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
    ['without its total', byTotal, [{ data: items(1) }], 'invalid', 'no number at "total"'],
    [
      'that goes on elsewhere',
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
    ['that goes on nowhere', byLink, [{ data: [], next: { a: 1 } }], 'invalid', 'is no text'],
    ['that is none', undefined, [{ data: null }], 'invalid', 'no list where "items" says'],
    ['elsewhere', undefined, [{ members: [] }], 'invalid', 'no list where "items" says'],
    ['with an entry without an id', undefined, [{ data: [{}] }], 'invalid', 'no id at "id"'],
  ])('%s is an error, never an end', async (_what, pages, answers, code, said) => {
    const open = () =>
      openList((count) => ({ body: answers[Math.min(count, answers.length) - 1] }), pages);
    const expected = { code, message: expect.stringContaining(said) as string };
    const [one, other] = [await open(), await open()];
    await expect(listAll(one.adapter, 'signs', signal)).rejects.toMatchObject(expected);
    await expect(other.adapter.findMember('signs', person, signal)).rejects.toMatchObject({
      code,
    });
    expect(other.requests.length).toBeLessThan(3);
  });

  it('is empty where a status says so on its first page, and broken on a later one', async () => {
    const open = (missing: number) =>
      openList(
        (count) => ({ body: { data: items(count) }, status: count === missing ? 404 : 200 }),
        byPage,
        { absent: [404] },
      );
    expect(await listAll((await open(1)).adapter, 'signs', signal)).toEqual([]);
    await expect(listAll((await open(2)).adapter, 'signs', signal)).rejects.toMatchObject({
      ...{ code: 'not_found', status: 404 },
    });
  });

  it('that is not there is an error, unless the settings say what it means', async () => {
    const { adapter } = await openList(() => ({ body: {}, status: 404 }), undefined);
    await expect(adapter.findMember('signs', person, signal)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('ends after a thousand pages', async () => {
    const { adapter, requests } = await openList(
      (count) => ({ body: { data: items(count) } }),
      byPage,
    );
    await expect(listAll(adapter, 'signs', signal)).rejects.toThrow('over 1000 pages');
    expect(requests).toHaveLength(1000);
  });
});
