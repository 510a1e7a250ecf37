import { expect, it } from 'vitest';
import type { Counts, Observation } from '../../../src/domain/usage.ts';
import { addDays } from '../../../src/lib/days.ts';
import {
  type Attribution,
  attributeWork,
  type HeldWorkDecision,
  workKey,
} from '../../../src/usage/attribute/attribute-work.ts';
import type { ContractCandidate } from '../../../src/usage/attribute/share-work.ts';

function seen(day: string, counts: Partial<Counts> = {}, source = 'tool:studio'): Observation {
  return {
    source,
    workedOn: { by: 'scope', tool: 'studio', scope: '7' },
    trainerId: 't1',
    day,
    counts: { seconds: 60, tasks: 1, labels: 3, ...counts },
    seenAt: '2026-03-15T12:00:00.000Z',
  };
}

function contract(contractId: string, firstDay: string | null, lastDay: string | null): ContractCandidate {
  return {
    install: 'acme',
    contractId,
    timeZone: 'UTC',
    firstDay,
    lastDay,
    startsAt: null,
    endsAt: null,
  };
}

function attribute(observations: Observation[], ...candidates: ContractCandidate[]) {
  const attribution: Attribution = {
    candidatesOf: () => candidates,
    momentsOf: () => [],
    decisions: new Map(),
  };
  const { due, held } = attributeWork(observations, attribution);
  const counted = due.map(({ contractId, counts }) => `${contractId} ${counts.seconds}`);
  return [...counted, ...held.map(({ reason }) => reason)];
}

const first = contract('c1', '2026-03-10', '2026-03-12');
const second = contract('c2', '2026-03-13', null);

it.each([
  ['the contract that runs', '2026-03-11', [first], 'c1 60'],
  ['its first day', '2026-03-10', [first], 'c1 60'],
  ['its last day', '2026-03-12', [first], 'c1 60'],
  ['the next contract, on the day after an end', '2026-03-13', [first, second], 'c2 60, c1 0'],
  ['the next contract, long after the end of another', '2026-03-30', [first, second], 'c2 60, c1 0'],
  ['the contract before the next', '2026-03-12', [first, second], 'c1 60'],
  ['none, between two', '2026-03-20', [first, contract('c4', '2026-04-01', null)], 'before_start'],
  ['none, on the day after the end', '2026-03-13', [first], 'after_end'],
  ['none, before the start', '2026-03-09', [first], 'before_start'],
  ['none, without a contract', '2026-03-11', [], 'no_contract'],
  ['none, if two run', '2026-03-11', [first, contract('c3', null, null)], 'several_contracts'],
  [
    'none, if one ends and another begins',
    '2026-03-12',
    [first, contract('c3', '2026-03-12', null)],
    'several_contracts',
  ],
  ['one whose days are unknown', '2020-01-01', [contract('c3', null, null)], 'c3 60'],
] as const)('gives work to %s', (_what, day, candidates, expected) => {
  expect(attribute([seen(day)], ...candidates).join(', ')).toBe(expected);
});

it('holds impossible counts whole', () => {
  expect(attribute([seen('2026-03-11', { seconds: 86_401 })], first)).toEqual(['over_a_day']);
  expect(attribute([seen('2026-03-11', { seconds: 86_400 })], first)).toEqual(['c1 86400']);
  expect(attribute([seen('2026-03-11', { labels: -1 })], first)).toEqual(['negative']);
});

it('counts withdrawn work as zero, unless another source has work', () => {
  const zero = { ...seen('2026-03-11', { seconds: 0 }, 'import:1'), isTakenBack: true };
  expect(attribute([zero], first)).toEqual(['c1 0']);
  expect(attribute([zero, seen('2026-03-11')], first)).toEqual(['c1 60']);
  expect(attribute([zero])).toEqual([]);
});

it('holds a day that one file gives by contract and another by project', () => {
  const byContract = {
    ...seen('2026-03-11', {}, 'import:1'),
    workedOn: { by: 'contract', install: 'acme', contractId: 'c1' },
  } as const;
  const byProject = {
    ...seen('2026-03-11', {}, 'import:2'),
    workedOn: { by: 'project', install: 'acme', externalProjectId: 'signs' },
  } as const;
  expect(attribute([byContract, byProject], first)).toEqual(['two_sources', 'two_sources']);
});

it('holds no work without counts', () => {
  const nothing = seen('2026-03-13', { seconds: 0, tasks: 0, labels: 0 });
  expect(attribute([nothing], first)).toEqual(['c1 0']);
  expect(attribute([nothing])).toEqual([]);
});

it('ignores a second source without counts', () => {
  const nothing = seen('2026-03-11', { seconds: 0, tasks: 0, labels: 0 });
  expect(attribute([nothing, seen('2026-03-11', {}, 'import:1')], first)).toEqual(['c1 60']);
  expect(attribute([nothing], first)).toEqual(['c1 0']);
});

it('adds up the work scopes of a contract, and holds all of them if the sum is more than a day', () => {
  const elsewhere = {
    ...seen('2026-03-11'),
    workedOn: { by: 'scope', tool: 'studio', scope: '8' },
  } as const;
  expect(attribute([seen('2026-03-11'), elsewhere], first)).toEqual(['c1 120']);
  const much = { ...elsewhere, counts: { seconds: 86_400, tasks: 1, labels: 1 } };
  expect(attribute([seen('2026-03-11'), much], first)).toEqual(['over_a_day', 'over_a_day']);
});

it('holds a day with work from a tool and an import', () => {
  const imported = seen('2026-03-11', {}, 'import:1');
  expect(attribute([seen('2026-03-11'), imported], first)).toEqual(['two_sources', 'two_sources']);
});

const decided = { reason: 'before_start' } as const;

function decide(observation: Observation, decision: HeldWorkDecision) {
  return attributeWork([observation], {
    candidatesOf: () => [first],
    momentsOf: () => [],
    decisions: new Map([[workKey(observation), decision]]),
  });
}

it("follows an operator's decision, and lists it", () => {
  const observation = seen('2026-03-01');
  expect(decide(observation, { ...decided, contract: null })).toMatchObject({
    due: [],
    held: [{ state: 'discarded', reason: 'before_start' }],
  });
  expect(decide(observation, { ...decided, contract: { install: 'acme', contractId: 'c1' } })).toMatchObject({
    due: [{ contractId: 'c1', day: '2026-03-01', counts: observation.counts, isPartial: false }],
    held: [{ state: 'assigned', reason: 'before_start' }],
  });
});

it('zeros work that was reported, then discarded, and then undone', () => {
  const undone = { ...seen('2026-03-11', { seconds: 0, tasks: 0, labels: 0 }, 'import:1'), isTakenBack: true };
  const { due, held } = decide(undone, { ...decided, contract: null });
  expect(due).toMatchObject([{ contractId: 'c1', counts: undone.counts }]);
  expect(held).toEqual([]);
});

it('gives a contract that had not begun nothing once its assigned work is assigned to another', () => {
  const observation = seen('2026-03-01');
  const { due } = attributeWork([observation], {
    candidatesOf: () => [first, second],
    momentsOf: () => [],
    decisions: new Map([[workKey(observation), { ...decided, contract: { install: 'acme', contractId: 'c2' } }]]),
  });
  expect(due.map(({ contractId, counts }) => `${contractId} ${counts.seconds}`)).toEqual(['c2 60', 'c1 0']);
});

it('holds impossible counts even if an operator assigns them', () => {
  const contract = { install: 'acme', contractId: 'c1' };
  for (const [counts, reason] of [
    [{ seconds: -1 }, 'negative'],
    [{ seconds: 86_401 }, 'over_a_day'],
  ] as const) {
    const { due, held } = decide(seen('2026-03-11', counts), { ...decided, contract });
    expect([due, held]).toMatchObject([[], [{ reason, state: 'held' }]]);
    expect(held).toHaveLength(1);
  }
});

it.each([
  ['2028-02-28', 1, '2028-02-29'],
  ['2026-02-28', 1, '2026-03-01'],
  ['2026-12-31', 1, '2027-01-01'],
  ['2026-03-29', 1, '2026-03-30'],
  ['2026-01-01', -1, '2025-12-31'],
])('counts the days of a calendar: %s and %i is %s', (day, count, then) => {
  expect(addDays(day, count)).toBe(then);
});
