import { describe, expect, it } from 'vitest';
import { emptyContract, emptyGrant, emptyLink } from '../../src/domain/evidence.ts';
import { describeCause, isExplicit, type ReasonFacts, removalCauses, standingOf } from '../../src/domain/standing.ts';

const minuteMs = 60_000;
const gracePeriods = { graceMs: 15 * minuteMs, revokedGraceMs: 24 * 60 * minuteMs };

function at(minutes: number): string {
  return new Date(Date.parse('2026-03-15T12:00:00.000Z') + minutes * minuteMs).toISOString();
}

const revoked = { revokedEventAt: at(0), revokedReceivedAt: at(0) };
const twice = `${at(0)} ${at(10)}`;

/** A reason that holds, with changes. */
function facts(changes: {
  contract?: object;
  link?: object;
  pair?: object;
  participation?: object;
  grant?: object;
}): ReasonFacts {
  return {
    contract: { ...emptyContract('acme', 'c1'), startedEventAt: at(-60), ...changes.contract },
    link: { ...emptyLink('acme', 'l1'), externalProjectId: 'p1', ...changes.link },
    pair: { namedAt: at(-60), omissions: null, ...changes.pair },
    participation: { seenAt: at(-60), absences: null, ...changes.participation },
    grants: changes.grant === undefined ? [] : [{ ...emptyGrant('acme', 'g1'), ...changes.grant }],
  };
}

describe('why a trainer is removed', () => {
  it.each(removalCauses)('is described for %s', (cause) => {
    expect(describeCause(cause)).toMatch(/ /);
  });

  it('is described for a cause of another version', () => {
    expect(describeCause('contract_eliminated')).toBe('contract eliminated');
  });
});

describe('a reason stands', () => {
  it.each([
    ['as long as nothing speaks against it', {}],
    ['where its end is disputed', { contract: { endedEventAt: at(0), activeReadAt: at(10) } }],
    ['where a read missed the link once', { link: { absences: at(0) } }],
    ['where a read missed the contract on the link once', { pair: { omissions: at(0) } }],
    ['where a read missed the trainer once', { participation: { absences: at(0) } }],
    ['where the grant is active', { grant: { activeReadAt: at(0) } }],
    ['where the grant was revoked and is active again', { grant: { ...revoked, activeReadAt: at(1) } }],
  ])('%s', (_, changes) => {
    expect(standingOf(facts(changes), gracePeriods)).toEqual({ stands: true });
  });
});

describe('a reason cannot have been one', () => {
  it.each([
    ['where the contract is not known to have started', { contract: { startedEventAt: null } }],
    ['where the link leads nowhere', { link: { externalProjectId: null } }],
  ])('%s', (_, changes) => {
    expect(standingOf(facts(changes), gracePeriods)).toEqual({ stands: false, ends: [] });
  });
});

describe('a reason ends', () => {
  it.each([
    ['contract_ended', 0, 0, { contract: { endedEventAt: at(0) } }],
    ['contract_read_ended', 0, 0, { contract: { endedReadAt: at(0) } }],
    ['contract_ended_by_operator', 0, 0, { contract: { endedByOperatorAt: at(0) } }],
    ['link_removed', 0, 15, { link: { removedEventAt: at(0) } }, 24 * 60],
    ['link_absent', 10, 25, { link: { absences: twice } }, 10 + 24 * 60],
    ['contract_moved', 10, 25, { pair: { omissions: twice } }],
    ['participation_left', 10, 25, { participation: { absences: twice } }],
    ['grant_revoked', 2, 2 + 24 * 60, { grant: { revokedEventAt: at(0), revokedReceivedAt: at(2) } }],
  ] as const)('by %s', (cause, since, due, changes, withSuccessor?: number) => {
    expect(standingOf(facts(changes), gracePeriods)).toEqual({
      stands: false,
      ends: [{ cause, since: at(since), dueAt: at(due), dueWithSuccessorAt: at(withSuccessor ?? due) }],
    });
  });

  const [removed, absent] = [{ removedEventAt: at(10) }, { absences: twice }];
  const seen = { seenAt: at(-10) };
  const [day, longer] = [10 + 24 * 60, 10 + 48 * 60];
  const soon = 10 + 15;

  it.each<[string, object, object, number]>([
    ['removed, and not seen under the grant that came since', removed, { first: at(-9) }, day],
    ['absent, and not seen under the grant that came since', absent, { first: at(-9) }, day],
    ['removed, and seen as the grant was', removed, { first: at(-10) }, soon],
    ['absent, and seen as the grant was', absent, { first: at(-10) }, soon],
    ['absent, under a grant of which the first is not known', absent, { first: null }, soon],
    ['removed after its grant was revoked', removed, { revoked: at(10) }, day],
    ['removed before its grant was revoked', removed, { revoked: at(11) }, soon],
  ])('with a day to be made again, or not, by a link %s', (_, gone, of, dueAt) => {
    const { first = at(-60), revoked = null } = of as { first?: string | null; revoked?: string };
    const grant = {
      firstActiveReadAt: first,
      activeReadAt: first ?? at(-10),
      revokedEventAt: revoked,
      revokedReceivedAt: revoked,
    };
    const standing = standingOf(facts({ link: { ...seen, ...gone }, grant }), gracePeriods);
    const ends = standing.stands ? [] : standing.ends;
    const end = ends.find(({ cause }) => cause.startsWith('link_'));
    expect(end).toMatchObject({
      dueAt: at(dueAt),
      dueWithSuccessorAt: at(dueAt === day ? longer : day),
    });
  });

  it('by the delivered end, if it was both delivered and read', () => {
    const contract = { endedEventAt: at(5), endedReadAt: at(0), endedByOperatorAt: at(1) };
    expect(standingOf(facts({ contract }), gracePeriods)).toMatchObject({
      ends: [{ cause: 'contract_ended', since: at(5), dueAt: at(5) }],
    });
  });

  it.each([
    [
      'the end of the contract, which was stated outright, before a link that ended earlier',
      { link: { removedEventAt: at(-60) }, contract: { endedEventAt: at(9) } },
      'contract_ended',
    ],
    [
      'the link, whose grace is shorter than that of a grant',
      { link: { removedEventAt: at(-1) }, grant: revoked },
      'link_removed',
    ],
    [
      'the grant, once its longer grace is over first',
      { link: { removedEventAt: at(24 * 60) }, grant: revoked },
      'grant_revoked',
    ],
  ] as const)('first by %s', (_, changes, cause) => {
    expect(standingOf(facts(changes), gracePeriods)).toMatchObject({
      stands: false,
      ends: [{ cause }, expect.anything()],
    });
  });

  it('even if it could no longer have been a reason', () => {
    const changes = { contract: { startedEventAt: null, endedEventAt: at(0) } };
    expect(standingOf(facts(changes), gracePeriods)).toMatchObject({
      ends: [{ cause: 'contract_ended' }],
    });
  });
});

describe('isExplicit', () => {
  it('is an end that somebody stated, not an absence', () => {
    expect(removalCauses.filter(isExplicit)).toEqual([
      'contract_ended',
      'contract_read_ended',
      'contract_ended_by_operator',
      'retired',
    ]);
  });
});

describe('a delivered end that an operator took back', () => {
  const takenBack = { endedEventAt: at(0), reopenedAt: at(1) };

  it.each([
    ['by an operator', 'contract_ended_by_operator', { endedByOperatorAt: at(2) }],
    ['that was read', 'contract_read_ended', { endedReadAt: at(2) }],
  ])('is not the cause of a later end %s', (_, cause, later) => {
    const standing = standingOf(facts({ contract: { ...takenBack, ...later } }), gracePeriods);
    expect(standing).toMatchObject({ stands: false, ends: [{ cause, since: at(2) }] });
  });
});
