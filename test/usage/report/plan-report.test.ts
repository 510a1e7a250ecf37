import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Counts } from '../../../src/domain/usage.ts';
import { addDays, dayIn } from '../../../src/lib/days.ts';
import { beginDay, type LedgerDay, settleDay } from '../../../src/usage/report/ledger-day.ts';
import { holdLowered, isBrakeOn, type PlannedDay, planReport } from '../../../src/usage/report/plan-report.ts';
import { tries } from '../../support/tries.ts';

const now = new Date('2026-03-15T12:00:00.000Z');
const lookbackMs = 14 * 86_400_000;
const counts: Counts = { seconds: 60, tasks: 1, labels: null };

function due(changes: Partial<PlannedDay> = {}): PlannedDay {
  const key = { install: 'acme', contractId: 'c1', trainerId: 't1', day: '2026-03-15' };
  return { ...key, timeZone: 'UTC', counts, isPartial: false, ...changes };
}

function ledger(changes: Partial<LedgerDay> = {}): LedgerDay {
  return {
    trainerId: 't1',
    day: '2026-03-15',
    answered: counts,
    tried: counts,
    state: 'answered',
    doubtedUntil: null,
    heldSince: null,
    closedAt: null,
    lowered: null,
    answeredAt: null,
    status: null,
    requestId: null,
    message: null,
    sentAt: '2026-03-15T11:00:00.000Z',
    ...changes,
  };
}

function plan(day: PlannedDay, known?: LedgerDay): string {
  const { entries, late, parked } = planReport([day], () => known, { now, lookbackMs });
  const [entry] = entries;
  if (entry !== undefined) return entry.lowers ? `${entry.cause}, lowers` : entry.cause;
  if (late.length > 0) return 'late';
  return parked.length > 0 ? 'parked' : 'nothing';
}

const less = { ...counts, seconds: 10 };
const unknown = { seconds: null, tasks: null, labels: null };

it.each([
  ['new', due(), undefined],
  ['nothing', due({ counts: { seconds: 0, tasks: 0, labels: null } }), undefined],
  ['nothing', due(), ledger()],
  ['changed', due({ counts: { ...counts, seconds: 61 } }), ledger()],
  ['changed, lowers', due({ counts: less }), ledger()],
  ['changed, lowers', due({ counts: { seconds: 0, tasks: 0, labels: null } }), ledger()],
  ['nothing', due(), ledger({ answered: { ...counts, labels: 7 } })],
  ['in_doubt', due(), ledger({ state: 'in_doubt', answered: unknown })],
  ['in_doubt, lowers', due({ counts: less }), ledger({ state: 'in_doubt', answered: less })],
  ['again', due(), ledger({ doubtedUntil: '2026-03-15T11:05:00.000Z' })],
  ['nothing', due(), ledger({ doubtedUntil: '2026-03-15T11:00:00.000Z' })],
  ['again', due(), ledger({ doubtedUntil: '2026-03-15T12:00:00.000Z' })],
  ['nothing', due(), ledger({ doubtedUntil: '2026-03-15T12:00:00.001Z' })],
  ['changed', due(), ledger({ state: 'unsent', answered: unknown })],
  ['parked', due(), ledger({ state: 'refused', answered: unknown })],
  ['changed', due({ counts: less }), ledger({ state: 'refused', answered: unknown })],
  ['changed', due(), ledger({ state: 'refused', answered: unknown, sentAt: '2026-03-14T11:00:00.000Z' })],
])('plans %s', (expected, day, known) => {
  expect(plan(day, known)).toBe(expected);
});

it('sends a day again if the client repeated its request, once the first one can no longer arrive', () => {
  const [day, answer] = [due(), { state: 'answered', status: 200, requestId: null, message: null } as const];
  const settledMinutesAgo = (minutes: number) => {
    const at = new Date(now.getTime() - minutes * 60_000).toISOString();
    const sent = { ...day, closes: false };
    return settleDay(beginDay(undefined, sent, at), sent, { ...answer, isRepeated: true }, at);
  };
  expect([plan(day, settledMinutesAgo(9)), plan(day, settledMinutesAgo(10))]).toEqual(['nothing', 'again']);
});

describe('a count whose request had no answer and whose source was undone since', () => {
  const sent = { seconds: 841, tasks: 18, labels: null };
  const left = due({ counts: { ...sent, seconds: null } });
  const unheard = ledger({ tried: sent, answered: unknown, state: 'in_doubt' });

  it.each([
    ['is sent again', left, unheard],
    ['is sent again beside held work', { ...left, isPartial: true }, unheard],
    ['is kept after a refused retry', left, settle(unheard, 'unsent')],
    ['is kept after a refused retry beside held work', { ...left, isPartial: true }, settle(unheard, 'unsent')],
  ])('%s: the ledger has what the marketplace may have', (_, day, known) => {
    const [entry] = planReport([day], () => known, { now, lookbackMs }).entries;
    expect(entry?.counts).toEqual(sent);
  });

  it('is not sent again once the marketplace has answered', () => {
    expect(plan(left, settle(unheard, 'answered'))).toBe('nothing');
  });

  /** Retries what is planned. */
  function settle(known: LedgerDay, state: 'answered' | 'unsent'): LedgerDay {
    const [entry] = planReport([left], () => known, { now, lookbackMs }).entries;
    const [day, at] = [
      { trainerId: 't1', day: left.day, counts: entry?.counts ?? unknown, closes: false },
      now.toISOString(),
    ];
    const answer = { state, status: null, requestId: null, message: null, isRepeated: false };
    return settleDay(beginDay(known, day, at), day, answer, at);
  }
});

describe('a day that leaves the look-back', () => {
  const old = { day: '2026-02-28' };
  const closedAt = '2026-03-15T11:00:00.000Z';

  it('is sent once more, and later changes are listed', () => {
    expect(plan(due({ day: '2026-03-01' }), ledger())).toBe('nothing');
    expect(plan(due(old), ledger())).toBe('leaving');
    expect(plan(due(old), ledger({ closedAt }))).toBe('nothing');
    expect(plan(due({ ...old, counts: less }), ledger({ closedAt }))).toBe('late');
    expect(plan(due(old), ledger({ closedAt, state: 'in_doubt' }))).toBe('in_doubt');
  });

  it('is sent also if it never was before', () => {
    expect(plan(due(old))).toBe('new');
  });
});

/** A day is sent once it has begun in its zone and in UTC. */
it.each([
  ['Pacific/Kiritimati', '2026-03-16', '2026-03-15T23:59:59.999Z', 'nothing'],
  ['Pacific/Kiritimati', '2026-03-16', '2026-03-16T00:00:00Z', 'new'],
  ['Etc/GMT+12', '2026-03-16', '2026-03-16T11:59:59.999Z', 'nothing'],
  ['Etc/GMT+12', '2026-03-16', '2026-03-16T12:00:00Z', 'new'],
  ['America/New_York', '2026-03-09', '2026-03-09T03:59:59.999Z', 'nothing'],
  ['America/New_York', '2026-03-09', '2026-03-09T04:00:00Z', 'new'],
  ['Australia/Lord_Howe', '2026-10-05', '2026-10-04T23:59:59.999Z', 'nothing'],
  ['Australia/Lord_Howe', '2026-10-05', '2026-10-05T00:00:00Z', 'new'],
])('of %s, %s is planned at %s: %s', (timeZone, day, at, expected) => {
  const time = { now: new Date(at), lookbackMs };
  const { entries } = planReport([due({ timeZone, day })], () => undefined, time);
  expect(entries.map(({ cause }) => cause)).toEqual(expected === 'nothing' ? [] : [expected]);
});

it('never plans a day that has not begun, in any zone at any time', () => {
  const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'Etc/GMT+12');
  const times = fc.date({
    min: new Date('2020-01-01'),
    max: new Date('2040-01-01'),
    noInvalidDate: true,
  });
  const offsets = [-2, -1, 0, 1, 2];
  fc.assert(
    fc.property(zones, times, (timeZone, at) => {
      const days = offsets.map((offset) => addDays(dayIn(at, 'UTC'), offset));
      const all = days.map((day) => due({ timeZone, day }));
      const { entries } = planReport(all, () => undefined, { now: at, lookbackMs });
      const begun = days.filter((day) => day <= dayIn(at, 'UTC') && day <= dayIn(at, timeZone));
      expect(entries.map(({ day }) => day)).toEqual(begun);
    }),
    { numRuns: tries(2000) },
  );
});

it('raises a day with held work, and does not lower it', () => {
  const partly = (some: Counts) => due({ counts: some, isPartial: true });
  expect(plan(partly(less), ledger())).toBe('nothing');
  expect(plan(partly({ ...counts, tasks: 5 }), ledger())).toBe('changed');
  expect(plan(partly({ ...less, tasks: 5 }), ledger())).toBe('changed');
  expect(plan(partly(less), ledger({ state: 'in_doubt' }))).toBe('in_doubt');
  expect(plan(partly(less))).toBe('new');
});

it('holds what a run would lower if it is too much of what was reported, and sends the rest', () => {
  const days = ['2026-03-12', '2026-03-13', '2026-03-14', '2026-03-15'];
  const { entries } = planReport(
    days.map((day, index) => due({ day, counts: index < 2 ? less : { ...counts, seconds: 99 } })),
    () => ledger(),
    { now, lookbackMs },
  );
  const isOn = (known: number) => isBrakeOn({ lowered: 2, known }, 0.2);
  expect([isOn(10), isOn(9)]).toEqual([false, true]);
  const daysOf = (all: { day: string }[]) => all.map(({ day }) => day);
  expect(daysOf(holdLowered(entries, false).held)).toEqual([]);
  expect(daysOf(holdLowered(entries, true).held)).toEqual(['2026-03-12', '2026-03-13']);
  expect(daysOf(holdLowered(entries, true).entries)).toEqual(days.slice(2));
});
