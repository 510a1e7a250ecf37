import { describe, expect, it } from 'vitest';
import type { UsageObservation } from '../../../src/adapters/adapter.ts';
import { noCounts } from '../../../src/domain/usage.ts';
import { momentsOf, type Reading } from '../../../src/usage/read/merge-items.ts';
import { freezeWork, type MemberWork, mergeWork, noWork } from '../../../src/usage/read/merge-work.ts';

const reading: Reading = {
  beganAt: new Date('2026-03-15T12:00:00.000Z'),
  timeZone: 'UTC',
  firstDay: '2026-03-01',
  firstOpenDay: '2026-03-03',
  lowers: true,
  tasks: null,
  hire: { startsAt: null, hasNewAccount: true },
};

type ItemObservation = Extract<UsageObservation, { of: 'item' }>;

function item(itemId: string, changes: Partial<ItemObservation> = {}): ItemObservation {
  const at = '2026-03-15T10:00:00.000Z';
  return {
    memberId: 'm1',
    of: 'item',
    itemId,
    taskId: `task of ${itemId}`,
    doneAt: at,
    changedAt: at,
    labels: 3,
    seconds: 60,
    ...changes,
  };
}

function daysOf(work: MemberWork): Record<string, object> {
  return Object.fromEntries([...work.days].map(([day, { counts }]) => [day, counts]).sort());
}

describe('pieces of work', () => {
  it('count their labels on the day they were done, and a task with several pieces once', () => {
    const work = mergeWork(noWork, [item('a', { taskId: 't' }), item('b', { taskId: 't' })], reading);
    expect(daysOf(work)).toEqual({ '2026-03-15': { seconds: 120, tasks: 1, labels: 6 } });
  });

  it('count their growth on the day of the change', () => {
    const first = mergeWork(noWork, [item('a')], reading);
    const changed = item('a', { seconds: 100, changedAt: '2026-03-16T08:00:00.000Z' });
    expect(daysOf(mergeWork(first, [changed], reading))).toEqual({
      '2026-03-15': { seconds: 60, tasks: 1, labels: 3 },
      '2026-03-16': { seconds: 40, tasks: 0, labels: 0 },
    });
  });

  it('are removed only by a complete reading without them', () => {
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

  it('stay if their task is gone too, also a skipped one, and are removed if it exists', () => {
    const skipped = item('b', { tasks: 0, labels: 0, seconds: 20 });
    const work = mergeWork(noWork, [item('a'), skipped, item('c')], reading);
    const without = (...ids: string[]) => {
      const all = ['a', 'b', 'c'].map((id) => `task of ${id}`);
      const tasks = new Set(all.filter((id) => !ids.some((gone) => id === `task of ${gone}`)));
      return daysOf(mergeWork(work, [], { ...reading, tasks }));
    };
    expect(without('a', 'b', 'c')).toEqual(daysOf(work));
    expect(without('a', 'b')).toEqual({ '2026-03-15': { seconds: 80, tasks: 1, labels: 3 } });
    expect(without('b')).toEqual({ '2026-03-15': { seconds: 20, tasks: 0, labels: 0 } });
    expect(without()).toEqual({ '2026-03-15': { seconds: 0, tasks: 0, labels: 0 } });
  });

  it('are not moved or lowered by a reading of changes', () => {
    const work = mergeWork(noWork, [item('a')], reading);
    const later = '2026-03-16T08:00:00.000Z';
    const changed = item('a', { seconds: 10, labels: 1, doneAt: later, changedAt: later });
    expect(daysOf(mergeWork(work, [changed], { ...reading, lowers: false }))).toEqual(daysOf(work));
    expect(daysOf(mergeWork(work, [changed], reading))).toEqual({
      '2026-03-15': { seconds: 10, tasks: 0, labels: 0 },
      '2026-03-16': { seconds: 0, tasks: 1, labels: 1 },
    });
  });

  it('count their time but no task if they were skipped, and the task once it is done', () => {
    const skipped = item('a', { tasks: 0, labels: 0 });
    const work = mergeWork(noWork, [skipped, item('b', { tasks: 1 })], reading);
    expect(daysOf(work)).toEqual({ '2026-03-15': { seconds: 120, tasks: 1, labels: 3 } });
    const changes = { ...reading, lowers: false };
    const done = mergeWork(work, [item('a', { tasks: 1 })], changes);
    expect(daysOf(done)).toEqual({ '2026-03-15': { seconds: 120, tasks: 2, labels: 6 } });
    expect(daysOf(mergeWork(done, [skipped], changes))).toEqual(daysOf(done));
    expect(daysOf(mergeWork(done, [skipped, item('b')], reading))).toEqual(daysOf(work));
  });

  it('count an edit on their last day once that is closed, and keep the day they were done', () => {
    const seen = (hour: number) => `2026-03-15T${hour}:00:00.000Z`;
    const later = '2026-03-31T08:00:00.000Z';
    let work = mergeWork(noWork, [item('a'), item('b')], reading);
    work = mergeWork(work, [item('a', { seconds: 80, changedAt: seen(11) })], { ...reading, lowers: false });
    const edited = item('a', { seconds: 90, labels: 4, doneAt: later, changedAt: later });
    const closed = { ...reading, firstDay: '2026-03-16', firstOpenDay: '2026-03-18', lowers: false };
    for (let times = 0; times < 2; times += 1) work = mergeWork(work, [edited], closed);
    expect(daysOf(work)).toEqual({ '2026-03-15': { seconds: 150, tasks: 2, labels: 7 } });
    expect(work.items.get('a')).toMatchObject({
      doneAt: seen(10),
      grown: [{ seconds: 60 }, { at: seen(11), seconds: 30 }],
    });
    const lowered = item('a', { seconds: 50, labels: 1, changedAt: later });
    expect(daysOf(mergeWork(work, [lowered], { ...closed, lowers: true }))).toEqual({
      '2026-03-15': { seconds: 110, tasks: 2, labels: 4 },
    });
  });

  it('do not change days before those that were asked for', () => {
    const old = item('a', {
      doneAt: '2026-02-01T10:00:00.000Z',
      changedAt: '2026-02-01T10:00:00.000Z',
    });
    expect(daysOf(mergeWork(noWork, [old], reading))).toEqual({});
  });
});

describe('what was seen before a removal', () => {
  it('stays, whatever a later complete reading has, and may rise', () => {
    const frozen = freezeWork(mergeWork(noWork, [item('a')], reading));
    expect(daysOf(mergeWork(frozen, [], reading))).toEqual(daysOf(frozen));
    const more = mergeWork(frozen, [item('a', { seconds: 90 })], reading);
    expect(daysOf(more)).toEqual({ '2026-03-15': { seconds: 90, tasks: 1, labels: 3 } });
  });
});

describe('the pieces of a day', () => {
  it('add up to the counts of the day, also those without counts', () => {
    const pieces = [item('a'), item('b', { tasks: 0, labels: 0 })];
    const { items } = mergeWork(noWork, pieces, reading);
    const moments = [...items.values()].flatMap((one) => momentsOf(one, day));
    expect(moments.map(({ taskId, seconds }) => [taskId, seconds])).toEqual([
      ['task of a', 0],
      [null, 60],
      [null, 0],
      [null, 60],
    ]);
  });

  const at = (hour: number) => `2026-03-15T${hour}:00:00.000Z`;
  const day = '2026-03-15';
  const growthOf = (work: MemberWork) =>
    work.items.get('a')?.grown.map(({ at: when, seconds }) => `${when?.slice(11, 13)} ${seconds}`);
  const isTorn = (work: MemberWork) => work.days.get(day)?.isTorn;

  it('keep the instants at which they were done and grew', () => {
    const zone = { ...reading, lowers: false };
    const first = item('a', { doneAt: '2026-03-15T12:00:00+02:00', seconds: 10 });
    let work = mergeWork(noWork, [first], zone);
    work = mergeWork(work, [item('a', { doneAt: at(12), changedAt: at(13), seconds: 30 })], zone);
    work = mergeWork(work, [item('a', { changedAt: at(13), seconds: 40 })], zone);
    work = mergeWork(work, [item('a', { changedAt: at(14), seconds: 40 })], zone);
    expect(work.items.get('a')?.doneAt).toBe(at(10));
    expect(growthOf(work)).toEqual(['10 10', '13 30']);
    work = mergeWork(work, [item('a', { changedAt: at(15), seconds: 5 })], reading);
    expect(growthOf(work)).toEqual(['10 5']);
  });

  it.each([
    ['has gone', []],
    ['has fewer labels', [item('a', { labels: 2 })]],
    ['took less time', [item('a', { seconds: 50 })]],
    ['was done at another time', [item('a', { doneAt: at(11) })]],
    ['belongs to another task', [item('a', { taskId: 'other' })]],
  ])('no longer show whose the day is if a piece %s after a removal', (_what, pieces) => {
    const seen = mergeWork(noWork, [item('a')], reading);
    expect(isTorn(mergeWork(seen, pieces, reading))).toBe(false);
    const torn = mergeWork(freezeWork(seen), pieces, reading);
    expect(isTorn(torn)).toBe(true);
    expect(isTorn(mergeWork(torn, [item('a')], reading))).toBe(true);
    const partly = { ...reading, lowers: false };
    expect(isTorn(mergeWork(freezeWork(seen), pieces, partly))).toBe(false);
  });

  it('show whose the day is as long as they only grow', () => {
    const skipped = item('b', { tasks: 0, labels: 0 });
    const seen = freezeWork(mergeWork(noWork, [item('a'), skipped], reading));
    expect(seen.days.get(day)?.counts).toEqual({ seconds: 120, tasks: 1, labels: 3 });
    const more = [item('a', { seconds: 90, labels: 4, changedAt: at(15) }), item('b')];
    expect(isTorn(mergeWork(seen, more, reading))).toBe(false);
  });
});

it('keeps a count that is missing from this reading', () => {
  const day = { memberId: 'm1', of: 'day', day: '2026-03-15' } as const;
  const work = mergeWork(noWork, [{ ...day, tasks: 4, labels: 9 }], reading);
  expect(daysOf(mergeWork(work, [{ ...day, tasks: 5 }], reading))).toEqual({
    '2026-03-15': { ...noCounts, tasks: 5, labels: 9 },
  });
});

it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 1e300])('refuses %s as a count', (seconds) => {
  expect(() => mergeWork(noWork, [item('a', { seconds })], reading)).toThrow('count');
});

/** An instant in a zone, and its day there. */
it.each([
  ['the last second before the day of 23 hours', 'Europe/Berlin', '2026-03-28T22:59:59.999Z', '2026-03-28'],
  ['the skipped hour', 'Europe/Berlin', '2026-03-29T01:30:00Z', '2026-03-29'],
  ['the repeated hour', 'Europe/Berlin', '2026-10-25T00:30:00Z', '2026-10-25'],
  ['the repeated hour, the second time', 'Europe/Berlin', '2026-10-25T01:30:00Z', '2026-10-25'],
  ['the first second of that day', 'America/New_York', '2026-03-08T05:00:00Z', '2026-03-08'],
  ['the last second of that day', 'America/New_York', '2026-03-09T03:59:59.999Z', '2026-03-08'],
  ['the first second of the day of 25 hours', 'America/New_York', '2026-11-01T04:00:00Z', '2026-11-01'],
  ['the last second of that day', 'America/New_York', '2026-11-02T04:59:59.999Z', '2026-11-01'],
  ['the first second of the day of 24 hours and a half', 'Australia/Lord_Howe', '2026-04-04T13:00:00Z', '2026-04-05'],
  ['the last second of that day', 'Australia/Lord_Howe', '2026-04-05T13:29:59.999Z', '2026-04-05'],
  ['the day after it', 'Australia/Lord_Howe', '2026-04-05T13:30:00Z', '2026-04-06'],
  ['the first second of the day of 23 hours and a half', 'Australia/Lord_Howe', '2026-10-03T13:30:00Z', '2026-10-04'],
  ['the last second of that day', 'Australia/Lord_Howe', '2026-10-04T12:59:59.999Z', '2026-10-04'],
  ['the day after it', 'Australia/Lord_Howe', '2026-10-04T13:00:00Z', '2026-10-05'],
  ['a change at midnight', 'America/Asuncion', '2024-03-24T03:30:00Z', '2024-03-23'],
  ['the first zone to have a day', 'Pacific/Kiritimati', '2026-03-14T10:00:00Z', '2026-03-15'],
  ['the last second of that day there', 'Pacific/Kiritimati', '2026-03-15T09:59:59.999Z', '2026-03-15'],
  ['the last zone to have that day', 'Etc/GMT+12', '2026-03-15T12:00:00Z', '2026-03-15'],
  ['the last second of that day anywhere', 'Etc/GMT+12', '2026-03-16T11:59:59.999Z', '2026-03-15'],
  ['three quarters of an hour', 'Asia/Kathmandu', '2026-03-14T18:15:00Z', '2026-03-15'],
  ['the last second before that', 'Asia/Kathmandu', '2026-03-14T18:14:59.999Z', '2026-03-14'],
  ['the leap day', 'UTC', '2028-02-29T23:59:59.999Z', '2028-02-29'],
  ['the day after it', 'UTC', '2028-03-01T00:00:00Z', '2028-03-01'],
  ['the end of a year', 'America/New_York', '2027-01-01T04:59:59.999Z', '2026-12-31'],
  ['the beginning of a year', 'Pacific/Kiritimati', '2026-12-31T10:00:00Z', '2027-01-01'],
])('counts %s in %s on its day', (_what, timeZone, instant, day) => {
  const at = new Date(instant).toISOString();
  const piece = item('a', { doneAt: at, changedAt: at });
  const work = mergeWork(noWork, [piece], { ...reading, timeZone, firstDay: '2024-01-01' });
  expect(daysOf(work)).toEqual({ [day]: { seconds: 60, tasks: 1, labels: 3 } });
});
