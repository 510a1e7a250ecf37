import { expect, it } from 'vitest';
import type { Moment, Observation } from '../../../src/domain/usage.ts';
import { attributeWork, type HeldWorkDecision, workKey } from '../../../src/usage/attribute/attribute-work.ts';
import type { ContractCandidate } from '../../../src/usage/attribute/share-work.ts';

const day = '2026-03-15';

/** An hour of that day, or an instant. */
function at(when: string): string {
  return when.length > 5 ? when : `${day}T${when}:00.000Z`;
}

/** A contract between two instants, such as `09:00 to 12:00`, either of which may be left out. */
function contract(contractId: string, span: string): ContractCandidate {
  const [start = '', end = ''] = span.split(' to ').map((one) => one && at(one));
  const toDay = (instant: string) => (instant === '' ? null : instant.slice(0, 10));
  return {
    install: 'acme',
    contractId,
    timeZone: 'UTC',
    firstDay: toDay(start),
    lastDay: toDay(end),
    startsAt: start || null,
    endsAt: end || null,
  };
}

/** Only the day of this instant is known. */
function vague(candidate: ContractCandidate, what: 'startsAt' | 'endsAt'): ContractCandidate {
  return { ...candidate, [what]: null };
}

function done(when: string, taskId = `task at ${when}`): Moment {
  return { at: at(when), taskId, seconds: 60, labels: 3 };
}

function grown(when: string, seconds: number): Moment {
  return { at: at(when), taskId: null, seconds, labels: 0 };
}

function toObservation(moments: readonly Moment[], changes: Partial<Observation> = {}): Observation {
  const sum = (name: 'seconds' | 'labels') => moments.reduce((all, one) => all + one[name], 0);
  const tasks = new Set(moments.flatMap(({ taskId }) => taskId ?? [])).size;
  return {
    source: 'tool:studio',
    workedOn: { by: 'scope', tool: 'studio', scope: '7' },
    trainerId: 't1',
    memberId: 'm1',
    day,
    seenAt: at('18:00'),
    counts: { seconds: sum('seconds'), tasks, labels: sum('labels') },
    ...changes,
  };
}

function attribute(
  candidates: readonly ContractCandidate[],
  moments: readonly Moment[],
  changes: Partial<Observation> = {},
  decision?: HeldWorkDecision,
): string {
  const observation = toObservation(moments, changes);
  const { due, held } = attributeWork([observation], {
    candidatesOf: () => candidates,
    momentsOf: () => moments,
    decisions: new Map(decision && [[workKey(observation), decision]]),
  });
  const shares = due.map(({ contractId, counts: { seconds, tasks, labels } }) =>
    [contractId, seconds, tasks, labels].join(' '),
  );
  const waiting = held.filter(({ state }) => state === 'held');
  return [...shares.sort(), ...waiting.map(({ reason }) => reason)].join(', ');
}

const first = contract('c1', '09:00 to 12:00');
const second = contract('c2', '14:00 to ');
const late = contract('c0', '2026-03-10T09:00:00.000Z to 2026-03-14T18:00:00.000Z');
const three = [done('10:00'), done('13:00'), done('15:00')];

it.each([
  ['each contract its own work', [first, second]],
  ['the same in the other order', [second, first]],
  ['the same if the start of the first is unknown', [vague(first, 'startsAt'), second]],
])('gives %s, and holds work between them', (_what, candidates) => {
  expect(attribute(candidates, three)).toBe('c1 60 1 3, c2 60 1 3, after_end');
});

it.each([
  ['work at the start of one to that one', [done('14:00')], 'c1 0 0 0, c2 60 1 3'],
  ['work at the end of one to that one', [done('12:00')], 'c1 60 1 3, c2 0 0 0'],
  [
    'a piece to the contract it was done for, and its later growth to the other',
    [done('10:00'), grown('15:00', 40)],
    'c1 60 1 3, c2 40 0 0',
  ],
  [
    'a task once to each contract with a piece of it',
    [done('10:00', 't'), done('11:00', 't'), done('15:00', 't')],
    'c1 120 1 6, c2 60 1 3',
  ],
  ['explicit zeros if all work was deleted', [], 'c1 0 0 0, c2 0 0 0'],
])('gives %s', (_what, moments, expected) => {
  expect(attribute([first, second], moments)).toBe(expected);
});

it.each([
  ['before any contract began', [done('08:00')], 'c1 0 0 0, c2 0 0 0, before_start'],
  ['after one ended', [done('13:59')], 'c1 0 0 0, c2 0 0 0, after_end'],
  ['partly before and partly within', [done('08:00'), done('10:00')], 'c1 60 1 3, c2 0 0 0, before_start'],
])('holds work %s', (_what, moments, expected) => {
  expect(attribute([first, second], moments)).toBe(expected);
});

it.each([
  ['its start, from the first second', [done('13:59'), done('14:00')], 'c2 60 1 3, before_start'],
  ['its start, if all of it was', [done('07:00')], 'c2 0 0 0, before_start'],
])('holds work on the first day of the only contract before %s', (_what, moments, expected) => {
  expect(attribute([second], moments)).toBe(expected);
});

it('holds work on the last day of the only contract after its end', () => {
  expect(attribute([first], [done('12:00'), done('12:01'), grown('13:00', 40)])).toBe('c1 60 1 3, after_end');
});

it('gives the only contract a task if it has a piece of it', () => {
  expect(attribute([second], [done('13:00', 't'), done('15:00', 't')])).toBe('c2 60 1 3, before_start');
});

it('gives the only contract the whole day on which it begins if no instants are known', () => {
  expect(attribute([second], [], { counts: { seconds: 60, tasks: 1, labels: 3 } })).toBe('c2 60 1 3');
});

it('splits a day among three contracts', () => {
  const last = contract('c3', '18:00 to ');
  const candidates = [first, contract('c2', '14:00 to 17:00'), last];
  const moments = [...three, done('17:30'), done('18:00')];
  expect(attribute(candidates, moments)).toBe('c1 60 1 3, c2 60 1 3, c3 60 1 3, after_end');
});

it.each([
  ['they overlap', [first, contract('c2', '11:00 to ')], [done('10:00'), done('11:30')], 'c1 60 1 3, c2 0 0 0'],
  ['the earlier one goes on', [contract('c1', '09:00 to '), second], three, 'c1 120 2 6, c2 0 0 0'],
  [
    'only the day is known of the end of the earlier one',
    [vague(first, 'endsAt'), second],
    three,
    'c1 120 2 6, c2 0 0 0',
  ],
  [
    'only the day is known of the start of the later one',
    [first, vague(second, 'startsAt')],
    three,
    'c1 0 0 0, c2 120 2 6',
  ],
])('holds work of two possible contracts if %s', (_what, candidates, moments, shares) => {
  expect(attribute(candidates, moments)).toBe(`${shares}, several_contracts`);
});

it.each([
  ['its pieces add up to less', three, { counts: { seconds: 240, tasks: 4, labels: 12 } }],
  ['its pieces add up to more', three, { counts: { seconds: 180, tasks: 3, labels: 8 } }],
  ['a piece has gone since a removal', three, { isFrozen: true, isTorn: true }],
])('holds a whole day if %s', (_what, moments, changes) => {
  expect(attribute([first, second], moments, changes)).toBe('unknown_instants');
});

it('splits a frozen day if all its pieces exist', () => {
  expect(attribute([first, second], three, { isFrozen: true })).toBe('c1 60 1 3, c2 60 1 3, after_end');
});

it('holds more than 24 hours, though no part is', () => {
  const moments = [done('10:00'), grown('11:00', 50_000), grown('15:00', 40_000)];
  expect(attribute([first, second], moments)).toBe('over_a_day');
});

it('leaves a count unknown that the source does not have', () => {
  const counts = { seconds: null, tasks: 3, labels: 9 };
  const moments = three.map((one) => ({ ...one, seconds: 0 }));
  expect(attribute([first, second], moments, { counts })).toBe('c1  1 3, c2  1 3, after_end');
});

it('gives the whole day to the contract that an operator chose', () => {
  const whole = { contract: { install: 'acme', contractId: 'c1' }, reason: 'unknown_instants' } as const;
  expect(attribute([first, second], three, { isTorn: true }, whole)).toBe('c1 180 3 9, c2 0 0 0');
});

it.each([
  ['the work since its start, and holds the earlier work', three, {}, 'c0 0 0 0, c2 60 1 3, before_start'],
  ['a day without pieces', [], { counts: { seconds: 60, tasks: 1, labels: 3 } }, 'c0 0 0 0, c2 60 1 3'],
  [
    'the day without the pieces before its start, if the pieces add up to less',
    three,
    { counts: { seconds: 240, tasks: 4, labels: 12 } },
    'c0 0 0 0, c2 120 2 6, before_start',
  ],
])('gives a contract, after another ended the day before, %s', (_what, moments, changes, expected) => {
  expect(attribute([late, second], moments, changes)).toBe(expected);
});

it('adds the part that an operator assigns to the share of the contract', () => {
  const contract = { install: 'acme', contractId: 'c2' };
  const observation = toObservation(three);
  const decide = (decision: HeldWorkDecision) =>
    attributeWork([observation], {
      candidatesOf: () => [first, second],
      momentsOf: () => three,
      decisions: new Map([[`${workKey(observation)} rest`, decision]]),
    });
  const assigned = decide({ contract, reason: 'after_end' });
  expect(assigned.due.map(({ contractId, counts }) => `${contractId} ${counts.seconds}`)).toEqual(['c1 60', 'c2 120']);
  expect(assigned.held).toMatchObject([{ state: 'assigned', observation: { counts: { seconds: 60 } } }]);
  const discarded = decide({ contract: null, reason: 'after_end' });
  expect(discarded.due.map(({ counts, isPartial }) => [counts.seconds, isPartial])).toEqual([
    [60, false],
    [60, false],
  ]);
  expect(discarded.held).toMatchObject([{ state: 'discarded', observation: { counts: { seconds: 60 } } }]);
});

it('is held once and whole if a file has work of each contract too', () => {
  const whole = toObservation(three);
  const files = ['c1', 'c2'].map((contractId) =>
    toObservation(three, { source: 'import:1', workedOn: { by: 'contract', install: 'acme', contractId } }),
  );
  const { due, held } = attributeWork([whole, ...files], {
    candidatesOf: ({ workedOn }) =>
      [first, second].filter((one) => workedOn.by !== 'contract' || one.contractId === workedOn.contractId),
    momentsOf: (observation) => (observation === whole ? three : []),
    decisions: new Map(),
  });
  expect(due).toEqual([]);
  expect(held).toHaveLength(3);
  expect(held).toContainEqual({
    key: workKey(whole),
    observation: whole,
    reason: 'two_sources',
    state: 'held',
    contracts: [
      { install: 'acme', contractId: 'c1' },
      { install: 'acme', contractId: 'c2' },
    ],
  });
});

it('does not lower a contract that held work may belong to', () => {
  const candidates = [first, second];
  const elsewhere = { workedOn: { by: 'scope', tool: 'studio', scope: '8' } } as const;
  const [torn, whole] = [toObservation(three, { isTorn: true }), toObservation([done('10:00')], elsewhere)];
  const { due, held } = attributeWork([torn, whole], {
    candidatesOf: ({ workedOn }) => (workedOn === elsewhere.workedOn ? [first] : candidates),
    momentsOf: (observation) => (observation === torn ? three : []),
    decisions: new Map(),
  });
  expect(held).toMatchObject([{ observation: torn, reason: 'unknown_instants' }]);
  expect(due).toMatchObject([{ contractId: 'c1', isPartial: true }]);
});
