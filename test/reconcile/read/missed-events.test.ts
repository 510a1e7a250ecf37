import { describe, expect, it } from 'vitest';
import { type Evidence, emptyContract, emptyEvidence, emptyLink } from '../../../src/domain/evidence.ts';
import { addMissed, countMissed, listMissed } from '../../../src/reconcile/read/missed-event-store.ts';
import { findMissed } from '../../../src/reconcile/read/missed-events.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const [early, beganAt] = ['2026-03-15T10:00:00.000Z', '2026-03-15T12:00:00.000Z'];

describe('what a reading has found', () => {
  const found = (changed: Partial<Evidence>) =>
    findMissed({ ...emptyEvidence(), ...changed }, beganAt).map(({ kind }) => kind);
  const contract = (registers: object) => ({ contracts: [{ ...emptyContract('acme', 'c1'), ...registers }] });
  const link = (registers: object) => ({
    links: [{ ...emptyLink('acme', 'l1'), externalProjectId: 'p', ...registers }],
  });

  it.each([
    ['a start that only the reading has', contract({ activeReadAt: beganAt }), ['start']],
    ['a start that was delivered too', contract({ activeReadAt: beganAt, startedEventAt: early }), []],
    ['an end that only the reading has', contract({ startedEventAt: early, endedReadAt: beganAt }), ['end']],
    ['an end that was delivered', contract({ endedEventAt: early, endedReadAt: beganAt }), []],
    ['an end that an operator had said', contract({ endedByOperatorAt: early, endedReadAt: beganAt }), []],
    ['active although an end was delivered', contract({ endedEventAt: early, activeReadAt: beganAt }), ['start']],
    ['a link seen first', link({ firstSeenAt: beganAt, seenAt: beganAt }), ['link']],
    ['a link seen before', link({ firstSeenAt: early, seenAt: beganAt }), []],
    ['a link whose removal was delivered', link({ seenAt: early, removedEventAt: beganAt }), []],
  ])('says of %s: %j', (_case, changed, kinds) => {
    expect(found(changed)).toEqual(kinds);
  });

  it('names trainers of a contract that goes on, and not those of one that it names itself', () => {
    const joined = (contractId: string) => ({
      install: 'acme',
      contractId,
      trainerId: 't1',
      seenAt: beganAt,
      absences: null,
    });
    const { contracts } = contract({ activeReadAt: beganAt });
    const missed = findMissed({ ...emptyEvidence(), contracts, participations: [joined('c1'), joined('c2')] }, beganAt);
    expect(missed.slice(1)).toEqual([{ kind: 'joined', contractId: 'c2', linkId: null, trainerId: 't1' }]);
  });
});

describeAnyDatabase('the list of what events missed', (openFresh) => {
  const at = (day: number) => `2026-03-${String(day).padStart(2, '0')}T12:00:00.000Z`;
  const start = (contractId: string) => ({ kind: 'start' as const, contractId, linkId: null, trainerId: null });
  const end = (contractId: string) => ({ kind: 'end' as const, contractId, linkId: null, trainerId: null });

  it('is counted over a day and a month, filtered, and forgotten after a month', async () => {
    const database = await openFresh();
    const { kysely } = database;
    await addMissed(kysely, 'acme', [start('old')], '2026-01-01T00:00:00.000Z');
    await addMissed(kysely, 'acme', [start('a'), end('b')], at(3));
    await addMissed(kysely, 'acme', [start('c')], at(20));
    await addMissed(kysely, 'globex', [end('d')], at(20));
    await addMissed(kysely, 'acme', [], at(21));
    expect(await countMissed(database, { month: at(1), day: at(19) })).toEqual([
      { install: 'acme', kind: 'end', month: 1, day: 0 },
      { install: 'acme', kind: 'start', month: 2, day: 1 },
      { install: 'globex', kind: 'end', month: 1, day: 1 },
    ]);
    const ids = async (filter: object) =>
      (await listMissed(database, { limit: 2, ...filter })).map(({ contractId }) => contractId);
    expect(await ids({})).toEqual(['d', 'c']);
    expect(await ids({ install: 'acme' })).toEqual(['c', 'b']);
    const [, last] = await listMissed(database, { install: 'acme', limit: 2 });
    expect(await ids({ install: 'acme', before: last?.id })).toEqual(['a']);
    expect(await ids({ kind: 'end' })).toEqual(['d', 'b']);
  });
});
