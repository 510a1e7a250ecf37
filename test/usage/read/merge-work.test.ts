import { describe, expect, it } from 'vitest';
import type { UsageSighting } from '../../../src/adapters/adapter.ts';
import { noCounts } from '../../../src/domain/usage.ts';
import {
  freezeWork,
  mergeWork,
  noWork,
  type Reading,
  type Work,
} from '../../../src/usage/read/merge-work.ts';

const reading: Reading = {
  beganAt: new Date('2026-03-15T12:00:00.000Z'),
  timeZone: 'UTC',
  firstDay: '2026-03-01',
  lowers: true,
  countsFirstTotal: true,
};

type ItemSighting = Extract<UsageSighting, { of: 'item' }>;

function item(itemId: string, changes: Partial<ItemSighting> = {}): ItemSighting {
  const at = '2026-03-15T10:00:00.000Z';
  return {
    ...{ memberId: 'm1', of: 'item', itemId, taskId: `task of ${itemId}` },
    ...{ doneAt: at, changedAt: at, labels: 3, seconds: 60, ...changes },
  };
}

function total(tasks: number) {
  return { memberId: 'm1', of: 'total', tasks } as const;
}

function daysOf(work: Work): Record<string, object> {
  return Object.fromEntries([...work.days].map(([day, { counts }]) => [day, counts]).sort());
}

describe('pieces of work', () => {
  it('count their labels on the day they were done, and a task once however many it has', () => {
    const work = mergeWork(
      noWork,
      [item('a', { taskId: 't' }), item('b', { taskId: 't' })],
      reading,
    );
    expect(daysOf(work)).toEqual({ '2026-03-15': { seconds: 120, tasks: 1, labels: 6 } });
  });

  it('count what they grew by on the day of the change', () => {
    const first = mergeWork(noWork, [item('a')], reading);
    const changed = item('a', { seconds: 100, changedAt: '2026-03-16T08:00:00.000Z' });
    expect(daysOf(mergeWork(first, [changed], reading))).toEqual({
      '2026-03-15': { seconds: 60, tasks: 1, labels: 3 },
      '2026-03-16': { seconds: 40, tasks: 0, labels: 0 },
    });
  });

  it('are taken away by a reading of everything that ended without them, and by no other', () => {
    const work = mergeWork(noWork, [item('a'), item('b')], reading);
    const partly = mergeWork(work, [item('a')], { ...reading, lowers: false });
    expect(daysOf(partly)).toEqual(daysOf(work));
    expect(daysOf(mergeWork(partly, [item('a')], reading))).toEqual({
      '2026-03-15': { seconds: 60, tasks: 1, labels: 3 },
    });
    expect(daysOf(mergeWork(partly, [], reading))).toEqual({
      '2026-03-15': { seconds: 0, tasks: 0, labels: 0 },
    });
  });

  it('neither move nor shrink by a reading of changes', () => {
    const work = mergeWork(noWork, [item('a')], reading);
    const later = '2026-03-16T08:00:00.000Z';
    const changed = item('a', { seconds: 10, labels: 1, doneAt: later, changedAt: later });
    expect(daysOf(mergeWork(work, [changed], { ...reading, lowers: false }))).toEqual(daysOf(work));
    expect(daysOf(mergeWork(work, [changed], reading))).toEqual({
      '2026-03-15': { seconds: 10, tasks: 0, labels: 0 },
      '2026-03-16': { seconds: 0, tasks: 1, labels: 1 },
    });
  });

  it('leave days alone that are older than what was asked for', () => {
    const old = item('a', {
      doneAt: '2026-02-01T10:00:00.000Z',
      changedAt: '2026-02-01T10:00:00.000Z',
    });
    expect(daysOf(mergeWork(noWork, [old], reading))).toEqual({});
  });
});

describe('running totals', () => {
  const at = (day: number, hour = 12) => ({
    ...reading,
    beganAt: new Date(Date.UTC(2026, 2, day, hour)),
  });
  const tasksOf = (work: Work) =>
    Object.fromEntries([...work.days].map(([day, { counts }]) => [day.slice(8), counts.tasks]));

  it('count what they grew by each day, and nothing for the days between', () => {
    let work = mergeWork(noWork, [total(5)], at(10));
    work = mergeWork(work, [total(8)], at(10, 18));
    work = mergeWork(work, [total(20)], at(13));
    expect(tasksOf(work)).toEqual({ '10': 8, '13': 12 });
  });

  it('never count below zero, nor twice what vanished for a while', () => {
    let work = mergeWork(noWork, [total(100)], at(10));
    work = mergeWork(work, [total(0)], at(11));
    work = mergeWork(work, [total(100)], at(12));
    work = mergeWork(work, [total(104)], at(13));
    expect(tasksOf(work)).toEqual({ '10': 100, '11': 0, '12': 0, '13': 4 });
  });

  it('do not count what was there before anybody looked', () => {
    const seen = mergeWork(noWork, [total(500)], { ...at(10), countsFirstTotal: false });
    expect(tasksOf(mergeWork(seen, [total(503)], at(11)))).toEqual({ '10': 0, '11': 3 });
  });
});

describe('what was seen before a removal', () => {
  it('stays, whatever a reading of everything says later, and may still rise', () => {
    const frozen = freezeWork(mergeWork(noWork, [item('a')], reading));
    expect(daysOf(mergeWork(frozen, [], reading))).toEqual(daysOf(frozen));
    const more = mergeWork(frozen, [item('a', { seconds: 90 })], reading);
    expect(daysOf(more)).toEqual({ '2026-03-15': { seconds: 90, tasks: 1, labels: 3 } });
  });
});

it('keeps a count that a tool cannot tell this time', () => {
  const day = { memberId: 'm1', of: 'day', day: '2026-03-15' } as const;
  const work = mergeWork(noWork, [{ ...day, tasks: 4, labels: 9 }], reading);
  expect(daysOf(mergeWork(work, [{ ...day, tasks: 5 }], reading))).toEqual({
    '2026-03-15': { ...noCounts, tasks: 5, labels: 9 },
  });
});

it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 1e300])('refuses %s as a count', (seconds) => {
  expect(() => mergeWork(noWork, [item('a', { seconds })], reading)).toThrow('count');
});

/** An instant and the day it is of, there. */
it.each([
  ['the hour that is skipped', 'Europe/Berlin', '2026-03-29T01:30:00Z', '2026-03-29'],
  ['the last second before that day', 'Europe/Berlin', '2026-03-28T22:59:59Z', '2026-03-28'],
  ['the end of the day of 23 hours', 'Europe/Berlin', '2026-03-29T21:59:59Z', '2026-03-29'],
  ['the day after it', 'Europe/Berlin', '2026-03-29T22:00:00Z', '2026-03-30'],
  ['the hour that comes twice', 'Europe/Berlin', '2026-10-25T00:30:00Z', '2026-10-25'],
  ['the end of the day of 25 hours', 'Europe/Berlin', '2026-10-25T22:59:59Z', '2026-10-25'],
  ['the day after it', 'Europe/Berlin', '2026-10-25T23:00:00Z', '2026-10-26'],
  ['a change at midnight', 'America/Asuncion', '2024-03-24T03:30:00Z', '2024-03-23'],
  ['half an hour of daylight saving', 'Australia/Lord_Howe', '2026-04-04T13:00:00Z', '2026-04-05'],
  ['the first place to have a day', 'Pacific/Kiritimati', '2026-03-14T10:00:00Z', '2026-03-15'],
  ['the last place to have it', 'Etc/GMT+12', '2026-03-16T11:59:59Z', '2026-03-15'],
  ['the leap day', 'UTC', '2028-02-29T23:59:59Z', '2028-02-29'],
  ['the leap day abroad', 'Pacific/Kiritimati', '2028-02-28T10:00:00Z', '2028-02-29'],
  ['no leap day', 'America/New_York', '2026-03-01T04:59:59Z', '2026-02-28'],
  ['the end of a year', 'America/New_York', '2027-01-01T04:59:59Z', '2026-12-31'],
  ['the beginning of one', 'Pacific/Kiritimati', '2026-12-31T10:00:00Z', '2027-01-01'],
])('counts %s in %s on its day', (_what, timeZone, instant, day) => {
  const at = new Date(instant).toISOString();
  const told = item('a', { doneAt: at, changedAt: at });
  const work = mergeWork(noWork, [told], { ...reading, timeZone, firstDay: '2024-01-01' });
  expect(Object.keys(daysOf(work))).toEqual([day]);
});
