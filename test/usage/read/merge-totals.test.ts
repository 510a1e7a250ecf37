import { describe, expect, it } from 'vitest';
import { noCounts } from '../../../src/domain/usage.ts';
import type { Reading } from '../../../src/usage/read/merge-items.ts';
import { type MemberWork, mergeWork, noWork } from '../../../src/usage/read/merge-work.ts';

/** A reading of everything, of an account that Gangway made. */
function at(day: number, hour = 12): Reading {
  return {
    beganAt: new Date(Date.UTC(2026, 2, day, hour)),
    timeZone: 'UTC',
    firstDay: '2026-03-01',
    firstOpenDay: '2026-03-03',
    lowers: true,
    tasks: null,
    hire: { startsAt: null, hasNewAccount: true },
  };
}

function total(tasks: number) {
  return { memberId: 'm1', of: 'total', tasks } as const;
}

describe('running totals', () => {
  const tasksOf = (work: MemberWork) =>
    Object.fromEntries([...work.days].map(([day, { counts }]) => [day.slice(8), counts.tasks]));

  it('count their growth on the day of each reading', () => {
    let work = mergeWork(noWork, [total(5)], at(10));
    work = mergeWork(work, [total(8)], at(10, 18));
    work = mergeWork(work, [total(20)], at(13));
    expect(tasksOf(work)).toEqual({ '10': 8, '13': 12 });
  });

  it('never count below zero, and never count work twice that vanished for a while', () => {
    let work = mergeWork(noWork, [total(100)], at(10));
    work = mergeWork(work, [total(0)], at(11));
    work = mergeWork(work, [total(100)], at(12));
    work = mergeWork(work, [total(104)], at(13));
    expect(tasksOf(work)).toEqual({ '10': 100, '11': 0, '12': 0, '13': 4 });
  });

  it('remember how far they are below what was counted, until they have caught up', () => {
    const partly = { lowers: false };
    let work = mergeWork(noWork, [total(10)], at(10));
    expect(work.totals).not.toHaveProperty('fallen');
    work = mergeWork(work, [total(8)], { ...at(10, 18), ...partly });
    expect(work.totals?.fallen).toEqual({ seconds: null, tasks: 2, labels: null });
    // A reading without totals changes nothing.
    work = mergeWork(work, [], { ...at(10, 19), ...partly });
    expect(work.totals?.fallen?.tasks).toBe(2);
    work = mergeWork(work, [total(9)], at(11));
    expect([work.totals?.fallen?.tasks, tasksOf(work)]).toEqual([1, { '10': 10, '11': 0 }]);
    work = mergeWork(work, [total(12)], at(11, 18));
    expect(work.totals).not.toHaveProperty('fallen');
    expect(tasksOf(work)).toEqual({ '10': 10, '11': 2 });
  });

  it('are not below what was counted if a complete reading lowers their day', () => {
    const work = mergeWork(mergeWork(noWork, [total(10)], at(10)), [total(8)], at(10, 18));
    expect([work.totals?.fallen, tasksOf(work)]).toEqual([undefined, { '10': 8 }]);
  });

  describe('of an account that was there before', () => {
    const readTotal = (day: number, tasks: number | null, labels: number | null = null) => {
      return { at: at(day).beganAt.toISOString(), counts: { seconds: null, tasks, labels } };
    };
    const hired = (day: number, startsAt: string | null = '2026-03-10T12:30:00.000Z') => {
      return { ...at(day), hire: { startsAt, hasNewAccount: false } };
    };
    const beginWith = (...earlierTotals: MemberWork['earlierTotals']) => ({ ...noWork, earlierTotals });

    it('count from the last reading before the contract, and older ones are forgotten', () => {
      const known = beginWith(readTotal(9, 480), readTotal(10, 500), readTotal(11, 505));
      const work = mergeWork(known, [total(507)], hired(12));
      expect([tasksOf(work), work.totals?.first, work.earlierTotals]).toEqual([{ '12': 7 }, undefined, []]);
    });

    it('count from this reading if the contract has not begun', () => {
      const work = mergeWork(noWork, [total(500)], hired(10));
      expect(work.totals).not.toHaveProperty('first');
      expect(tasksOf(mergeWork(work, [total(503)], hired(11)))).toEqual({ '10': 0, '11': 3 });
    });

    it.each(['2026-03-10T12:30:00.000Z', null])(
      'are held up to the first reading if the contract began at %s',
      (start) => {
        const work = mergeWork(beginWith(readTotal(11, 500), readTotal(12, 505)), [total(507)], hired(13, start));
        const first = { ...readTotal(11, 500), day: '2026-03-11' };
        expect([tasksOf(work), work.totals?.first]).toEqual([{ '13': 7 }, first]);
        const later = mergeWork(work, [total(510)], hired(14, start));
        expect([tasksOf(later), later.totals?.first]).toEqual([{ '13': 7, '14': 3 }, first]);
      },
    );

    it('count from now if they have fallen since', () => {
      const work = mergeWork(beginWith(readTotal(9, 500)), [total(480)], hired(11));
      expect([tasksOf(work), work.totals]).toEqual([
        { '11': 0 },
        { day: '2026-03-11', before: { ...noCounts, tasks: 480 } },
      ]);
      expect(tasksOf(mergeWork(work, [total(485)], hired(12)))).toEqual({ '11': 0, '12': 5 });
    });

    it('count in full if Gangway has made the account since', () => {
      expect(tasksOf(mergeWork(beginWith(readTotal(9, 500)), [total(3)], at(11)))).toEqual({ '11': 3 });
    });

    it('are held count by count when each is first seen', () => {
      const work = mergeWork(beginWith(readTotal(9, 10, 70)), [total(12)], hired(11));
      const late = mergeWork(work, [{ ...total(12), labels: 75, seconds: 60 }], hired(12));
      expect(late.days.get('2026-03-12')?.counts).toEqual({ seconds: 0, tasks: 0, labels: 5 });
      expect(late.totals?.first).toEqual({
        day: '2026-03-12',
        ...readTotal(12, null),
        counts: { ...noCounts, seconds: 60 },
      });
    });
  });
});
