import { describe, expect, it } from 'vitest';
import { percentileOf } from '../../src/operations/status.ts';

describe('percentileOf', () => {
  it.each([
    ['nothing', [], 0.5, null],
    ['one value', [7], 0.95, 7],
    ['the middle', [9, 1, 5], 0.5, 5],
    ['the lower of two in the middle', [1, 2, 3, 4], 0.5, 2],
    ['almost all', Array.from({ length: 100 }, (_, index) => index + 1), 0.95, 95],
    ['all', [3, 1, 2], 1, 3],
  ])('finds that of %s', (_, values, share, expected) => {
    expect(percentileOf(values, share)).toBe(expected);
  });
});
