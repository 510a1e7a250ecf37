import { expect, it } from 'vitest';
import { createRecentIds } from '../../../src/http/receiver/delivery-headers.ts';

it('recognises an id of the same install only', () => {
  const { meet } = createRecentIds();
  expect(meet('acme', 'd-1')).toBe(false);
  expect(meet('globex', 'd-1')).toBe(false);
  expect(meet('acme', 'd-1')).toBe(true);
  expect(meet('acme', 'd-2')).toBe(false);
});

it('remembers at least the given number of ids, and forgets the oldest', () => {
  const { meet } = createRecentIds(2);
  for (const id of ['d-1', 'd-2', 'd-3', 'd-4']) meet('acme', id);
  expect(meet('acme', 'd-3')).toBe(true);
  expect(meet('acme', 'd-4')).toBe(true);
  meet('acme', 'd-5');
  expect(meet('acme', 'd-4')).toBe(true);
  expect(meet('acme', 'd-1')).toBe(false);
});
