import { expect, it } from 'vitest';
import { createEmployerSource } from '../../../src/marketplace/employer/create-employer-source.ts';
import { fixedLinks } from '../../../src/marketplace/source.ts';
import { openHttpFake, sendJson } from '../../support/http-fake.ts';
import { signal } from '../failure-of.ts';

const event = (id: unknown) => ({ type: 'message.received', id, createdAt: '2026-01-02T03:04:05.678Z' });

async function read(answer: unknown, cursor: string | null = '4') {
  const fake = await openHttpFake((_, response) => sendJson(response, answer));
  const source = createEmployerSource({ baseUrl: fake.url, token: 'ot_pat_1', links: fixedLinks([]) });
  const page = await source.readUpdates?.(cursor, signal);
  return { ...page, asked: fake.requests.map(({ line }) => line) };
}

it('requests the largest page after the cursor, or the first page', async () => {
  const answer = { events: [], nextCursor: null, hasMore: false };
  expect((await read(answer)).asked).toEqual(['GET /updates?limit=200&cursor=4']);
  expect((await read(answer, null)).asked).toEqual(['GET /updates?limit=200']);
});

it.each([
  ['a page', { events: [event('5'), event('7')], nextCursor: '7', hasMore: true }, '7', true],
  ['the last page', { events: [event('5')], nextCursor: '5', hasMore: false }, '5', false],
  ['no new event', { events: [], nextCursor: '4', hasMore: false }, '4', false],
  ['no cursor', { events: [], nextCursor: null }, '4', false],
  ['only events that the token may not read', { events: [], nextCursor: '9', hasMore: true }, '9', true],
  ['a page of which nothing came', { events: [], nextCursor: '9', hasMore: false }, '4', false],
  ['a page that was cut off', { events: [event('5')], nextCursor: '9', hasMore: false }, '5', true],
  ['the same page again', { events: [event('4')], nextCursor: '4', hasMore: true }, '4', false],
  ['an event without an id', { events: [event(null)], nextCursor: '8', hasMore: false }, '8', false],
])('knows the next cursor after %s', async (_, answer, cursor, hasMore) => {
  expect(await read(answer)).toMatchObject({ cursor, hasMore });
});

it('keeps each record as it came, whatever it contains', async () => {
  const odd = { zebra: 1, ...event('5'), newer: { b: 1, a: [null] } };
  const { updates } = await read({ events: [odd, 'text', { createdAt: 'yesterday' }], nextCursor: '5' });
  expect(updates).toEqual([
    { createdAt: '2026-01-02T03:04:05.678Z', body: JSON.stringify(odd) },
    { createdAt: null, body: '"text"' },
    { createdAt: null, body: '{"createdAt":"yesterday"}' },
  ]);
});
