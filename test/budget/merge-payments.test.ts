import fc from 'fast-check';
import { expect, it } from 'vitest';
import { mergePayments } from '../../src/budget/payment-job.ts';
import type { StoredPayment } from '../../src/budget/payment-store.ts';
import type { PendingPayment } from '../../src/marketplace/source-records.ts';

const at = (minute: number) => new Date(Date.UTC(2026, 2, 15, 12, minute)).toISOString();

function toPayment(id: string): PendingPayment {
  return { id, invoiceNumber: null, amountUsd: null, createdAt: null, jobId: null, url: 'https://x.example' };
}

/** The known payments after lists at these minutes. */
function readAll(lists: readonly (readonly [minute: number, ids: readonly string[]])[]): string[] {
  let known: StoredPayment[] = [];
  for (const [minute, ids] of lists) {
    const { listed, missed, over } = mergePayments(known, ids.map(toPayment), at(minute));
    const left = known.filter(({ paymentId }) => !over.includes(paymentId) && !ids.includes(paymentId));
    const found = new Map(missed.map(({ paymentId, absences }) => [paymentId, absences]));
    known = [
      ...listed.map(({ id }) => ({ paymentId: id, seenAt: at(minute), absences: null })),
      ...left.map((one) => ({ ...one, absences: found.get(one.paymentId) ?? one.absences })),
    ];
  }
  return known.map(({ paymentId }) => paymentId).sort();
}

it.each([
  [14, ['a', 'b']],
  [15, ['b']],
])('is over after lists without it at minutes 5 and %i, or waits on, and so do others', (last, waiting) => {
  const later = [5, last].map((minute) => [minute, ['b']] as const);
  expect(readAll([[0, ['a', 'b']], ...later])).toEqual(waiting);
});

it('is over only after two lists without it, at least ten minutes apart, and none with it between', () => {
  const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.boolean()), { maxLength: 20 });
  fc.assert(
    fc.property(steps, (taken) => {
      let [minute, missingSince, mayBeOver] = [0, Number.POSITIVE_INFINITY, false];
      const lists: [number, string[]][] = [[0, ['a']]];
      for (const [step, isListed] of taken) {
        minute += step;
        lists.push([minute, isListed ? ['a'] : []]);
        missingSince = isListed ? Number.POSITIVE_INFINITY : Math.min(missingSince, minute);
        mayBeOver = !isListed && (mayBeOver || minute - missingSince >= 10);
      }
      expect(mayBeOver || readAll(lists).includes('a')).toBe(true);
    }),
  );
});

it('keeps known payments if there are more than fit', () => {
  const ids = Array.from({ length: 600 }, (_, index) => `p${index}`);
  const known = ids.slice(550).map((paymentId) => ({ paymentId, seenAt: at(0), absences: null }));
  const { listed, missed, over } = mergePayments(known, ids.map(toPayment), at(20));
  expect([listed.length, missed, over]).toEqual([500, [], []]);
  expect(known.every(({ paymentId }) => listed.some(({ id }) => id === paymentId))).toBe(true);
});
