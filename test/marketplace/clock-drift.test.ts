import { describe, expect, it } from 'vitest';
import { driftMsOf } from '../../src/marketplace/client.ts';

const theirs = Date.parse('2026-03-15T12:00:00.000Z');
const date = 'Sun, 15 Mar 2026 12:00:00 GMT';

function drift(sentAtMs: number, answeredAtMs: number, headers: Record<string, string> = { date }) {
  const times = { sentAtMs: theirs + sentAtMs, answeredAtMs: theirs + answeredAtMs };
  return driftMsOf(new Headers(headers), times);
}

describe('the drift of the local clock', () => {
  it.each([
    ['none if the time of the marketplace lies between both', -300, 200, 0],
    ['none within the second that the header has', 999, 1000, 0],
    ['none where the answer took its time', -60_000, 60_000, 0],
    ['what it is ahead, at least', 61_000, 61_400, 60_000],
    ['what it is behind, at least', -90_500, -90_000, -90_000],
  ])('is %s', (_, sentAtMs, answeredAtMs, driftMs) => {
    expect(drift(sentAtMs, answeredAtMs)).toBe(driftMs);
  });

  it.each([
    ['no date', {}],
    ['an invalid date', { date: 'yesterday' }],
    ['a date from a cache', { date, age: '120' }],
  ])('is unknown for an answer with %s', (_, headers) => {
    expect(drift(90_000, 90_100, headers as Record<string, string>)).toBeUndefined();
  });
});
