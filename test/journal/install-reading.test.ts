import { describe, expect, it } from 'vitest';
import { type Reading, readingOf } from '../../src/journal/install-reading.ts';

const at = (hour: number) => `2026-03-15T${String(hour).padStart(2, '0')}:00:00.000Z`;
const whole = (hour: number): Reading => ({ beganAt: at(hour), isWhole: true });
const failed = (hour: number): Reading => ({ beganAt: at(hour), isWhole: false });
const period = { from: at(10), to: at(14) };

describe('what of an install was read as a whole', () => {
  it.each([
    ['read before and in it', [whole(9), whole(12)], []],
    ['read before it, and not in it', [whole(9)], []],
    ['never read', [], [{ from: at(10), until: at(14), why: 'never_read' }]],
    ['read first in it', [whole(11)], [{ from: at(10), until: at(11), why: 'never_read' }]],
    ['read first after it', [whole(15)], [{ from: at(10), until: at(14), why: 'never_read' }]],
    [
      'failing for a while',
      [whole(9), failed(11), failed(12), whole(13)],
      [{ from: at(11), until: at(13), why: 'reading_failed' }],
    ],
    ['failing since before it', [whole(8), failed(9)], [{ from: at(10), until: at(14), why: 'reading_failed' }]],
    ['failing only before it', [whole(7), failed(8), whole(9)], []],
    ['failing only after it', [whole(9), failed(15)], []],
    [
      'failing twice, in any order of the rows',
      [whole(12), failed(13), whole(9), failed(11)],
      [
        { from: at(11), until: at(12), why: 'reading_failed' },
        { from: at(13), until: at(14), why: 'reading_failed' },
      ],
    ],
  ])('%s', (_, readings, unread) => {
    expect(readingOf('acme', readings, period)).toEqual({
      install: 'acme',
      isCertified: unread.length === 0,
      unread,
    });
  });
});
