import { expect, it } from 'vitest';
import { createClient } from '../../../src/marketplace/client.ts';
import { readPublications } from '../../../src/marketplace/employer/read-publications.ts';
import { openHttpFake, sendJson } from '../../support/http-fake.ts';
import { signal } from '../failure-of.ts';

const job = (targetId: string, precedence: number) => ({ kind: 'JOB', targetId, precedence });
const pageOf = (pageId: string, more = {}) => ({ pageId, title: pageId, revision: 3, position: 0, ...more });
const published = (publicationNumber: number, ...audiences: string[]) => ({ publicationNumber, audiences });
const content = (text: string) => ({ type: 'doc', content: [{ type: 'text', text }] });

/** Answers by path and query, below `/instructions`. */
const usual: Record<string, unknown> = {
  '/workspaces': { workspaces: [{ id: 'w1' }] },
  '/workspaces/w1/manuals': {
    manuals: [
      { id: 'later', bindings: [job('job_1', 5)] },
      { id: 'unpublished', bindings: [job('job_1', 0)] },
      { id: 'first' },
    ],
  },
  '/manuals/first': { manual: { id: 'first', bindings: [job('job_1', 1), { ...job('job_2', 0), kind: 'FOLDER' }] } },
  '/manuals/unpublished/publications': { publications: [published(8, 'ADMIN', 'REVIEWER')] },
  '/manuals/first/publications': {
    publications: [published(1, 'WORKER'), published(2, 'WORKER'), published(3, 'ADMIN')],
  },
  '/manuals/first/publications/2/manifest?audience=WORKER': {
    publicationNumber: 2,
    pages: [
      pageOf('below', { parentId: 'top', position: 1 }),
      pageOf('secret', { audience: 'ADMIN' }),
      pageOf('top', { position: 2, checksum: 'c1' }),
      pageOf('also', { audience: 'WORKER', position: 4 }),
    ],
  },
  '/pages/top?revision=3&format=json': { page: { id: 'top', checksum: 'c1', content: content('top') } },
  '/pages/below?revision=3&format=json': { page: { id: 'below', revision: 3, content: content('below') } },
  '/pages/also?revision=3&format=json': { page: { id: 'also', revision: 3, content: content('also') } },
};

async function open(changes: Record<string, unknown> = {}) {
  const answers = { ...usual, ...changes };
  const fake = await openHttpFake(({ url = '' }, response) => {
    const answer = answers[url.replace(/^\/instructions/, '')];
    sendJson(response, answer ?? { error: 'There is no such thing' }, answer === undefined ? 404 : 200);
  });
  const client = createClient({ baseUrl: fake.url, token: 'ot_pat_1' });
  const read = (...jobIds: string[]) => readPublications(client, jobIds, signal);
  return { read, asked: () => fake.requests.map(({ line }) => line) };
}

it('reads the newest publication for trainers of the manual with the first precedence, page by page', async () => {
  const { read, asked } = await open();
  const found = await read('job_1', 'job_2');
  expect([...found]).toEqual([
    [
      'job_1',
      {
        manualId: 'first',
        publicationNumber: 2,
        pages: [
          { title: 'top', depth: 1, content: content('top') },
          { title: 'below', depth: 2, content: content('below') },
          { title: 'also', depth: 1, content: content('also') },
        ],
      },
    ],
  ]);
  expect(asked().filter((line) => /secret|later/.test(line))).toEqual([]);
  expect(asked().every((line) => line.startsWith('GET '))).toBe(true);
});

it('reads a manual of two jobs once', async () => {
  const { read, asked } = await open({
    '/manuals/first': { manual: { id: 'first', bindings: [job('job_1', -1), job('job_2', 1)] } },
  });
  expect([...(await read('job_1', 'job_2')).keys()].sort()).toEqual(['job_1', 'job_2']);
  expect(asked().filter((line) => line.includes('/pages/top'))).toHaveLength(1);
});

it.each([
  ['another revision', { id: 'top', revision: 4, content: content('draft') }],
  ['another content', { id: 'top', revision: 3, checksum: 'c2', content: content('draft') }],
  ['another page', { id: 'below', revision: 3, content: content('draft') }],
  ['no sign of which revision it is', { id: 'top', content: content('draft') }],
])('refuses a page that was not published: %s', async (_, page) => {
  const { read } = await open({ '/pages/top?revision=3&format=json': { page } });
  await expect(read('job_1')).rejects.toMatchObject({
    code: 'invalid',
    message: 'Could not read a page of a publication: the answer is not the published page',
  });
});

it.each([
  ['another publication', { publicationNumber: 3, pages: [] }, 'the answer is about another publication'],
  [
    'pages that form a circle',
    { publicationNumber: 2, pages: [pageOf('a', { parentId: 'b' }), pageOf('b', { parentId: 'a' })] },
    'its pages form a circle',
  ],
])('refuses a manifest of %s', async (_, manifest, why) => {
  const path = '/manuals/first/publications/2/manifest?audience=WORKER';
  const { read } = await open({ [path]: manifest });
  const message = `Could not read the manifest of a publication: ${why}`;
  await expect(read('job_1')).rejects.toMatchObject({ code: 'invalid', message });
});
