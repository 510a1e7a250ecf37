import { expect, it } from 'vitest';
import { decideRest, isStillBehind } from '../../src/evidence/intake-worker.ts';

const cases = [
  { what: 'nothing after a short batch', tookMs: 3, isCrowded: false, usedByOthers: 0.9, restMs: 0 },
  { what: 'as long as a longer batch took', tookMs: 20, isCrowded: false, usedByOthers: 0.9, restMs: 20 },
  { what: '50 ms at most where nothing queues', tookMs: 200, isCrowded: false, usedByOthers: 0.9, restMs: 50 },
  {
    what: 'no longer than that where requests wait for the disk alone',
    tookMs: 20,
    isCrowded: true,
    usedByOthers: 0,
    restMs: 20,
  },
  { what: 'a little longer beside a little work', tookMs: 20, isCrowded: true, usedByOthers: 0.2, restMs: 60 },
  { what: 'for a twentieth of the time beside much work', tookMs: 20, isCrowded: true, usedByOthers: 0.7, restMs: 380 },
  { what: 'as much beside a thread that is never free', tookMs: 20, isCrowded: true, usedByOthers: 1, restMs: 380 },
  {
    what: 'twice as long as it took, at most, where it is behind',
    tookMs: 20,
    isCrowded: true,
    usedByOthers: 0.7,
    isBehind: true,
    restMs: 40,
  },
  { what: 'half a second at most', tookMs: 200, isCrowded: true, usedByOthers: 0.7, restMs: 500 },
];

it.each(cases)('intake rests $what', ({ restMs, ...taken }) => {
  expect(decideRest({ isBehind: false, ...taken })).toBeCloseTo(restMs);
});

it('intake is behind once a delivery has waited for long, until no request queues', () => {
  const batches = [
    { isCrowded: true, waitedMs: 5000, isBehind: false },
    { isCrowded: true, waitedMs: 5001, isBehind: true },
    { isCrowded: true, waitedMs: 100, isBehind: true },
    { isCrowded: false, waitedMs: 100, isBehind: false },
    { isCrowded: true, waitedMs: 100, isBehind: false },
  ];
  let isBehind = false;
  for (const { isCrowded, waitedMs, ...expected } of batches) {
    isBehind = isStillBehind(isBehind, isCrowded, waitedMs);
    expect({ isBehind }).toEqual(expected);
  }
});
