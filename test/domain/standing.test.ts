import { describe, expect, it } from 'vitest';
import { emptyContract, emptyGrant, emptyLink } from '../../src/domain/evidence.ts';
import {
  isExplicit,
  type ReasonFacts,
  removalCauses,
  sayCause,
  standingOf,
} from '../../src/domain/standing.ts';

const minuteMs = 60_000;
const graces = { graceMs: 15 * minuteMs, revokedGraceMs: 24 * 60 * minuteMs };

function at(minutes: number): string {
  return new Date(Date.parse('2026-03-15T12:00:00.000Z') + minutes * minuteMs).toISOString();
}

const twice = `${at(0)} ${at(10)}`;

/** A reason that stands, and what is different about it. */
function facts(changes: {
  contract?: object;
  link?: object;
  participation?: object;
  grant?: object;
}): ReasonFacts {
  return {
    contract: { ...emptyContract('acme', 'c1'), startedEventAt: at(-60), ...changes.contract },
    link: { ...emptyLink('acme', 'l1'), externalProjectId: 'p1', ...changes.link },
    participation: { seenAt: at(-60), absences: null, ...changes.participation },
    grants: changes.grant === undefined ? [] : [{ ...emptyGrant('acme', 'g1'), ...changes.grant }],
  };
}

describe('why somebody is taken out', () => {
  it.each(removalCauses)('is said of %s', (cause) => {
    expect(sayCause(cause)).toMatch(/ /);
  });

  it('is said also where another version of Gangway gave the cause', () => {
    expect(sayCause('contract_eliminated')).toBe('contract eliminated');
  });
});

describe('a reason stands', () => {
  it.each([
    ['as long as nothing speaks against it', {}],
    ['where its end is disputed', { contract: { endedEventAt: at(0), activeReadAt: at(10) } }],
    ['where a read missed the link once', { link: { absences: at(0) } }],
    ['where a read missed the trainer once', { participation: { absences: at(0) } }],
    ['where the grant is active', { grant: { activeReadAt: at(0) } }],
    [
      'where the grant was revoked and is active again',
      { grant: { revokedEventAt: at(0), revokedReceivedAt: at(0), activeReadAt: at(1) } },
    ],
  ])('%s', (_, changes) => {
    expect(standingOf(facts(changes), graces)).toEqual({ stands: true });
  });
});

describe('a reason cannot have been one', () => {
  it.each([
    ['where the contract is not known to have started', { contract: { startedEventAt: null } }],
    ['where the link leads nowhere', { link: { externalProjectId: null } }],
  ])('%s', (_, changes) => {
    expect(standingOf(facts(changes), graces)).toEqual({ stands: false, falls: [] });
  });
});

describe('a reason falls', () => {
  it.each([
    ['contract_ended', 0, 0, { contract: { endedEventAt: at(0) } }],
    ['contract_read_ended', 0, 0, { contract: { endedReadAt: at(0) } }],
    ['contract_ended_by_operator', 0, 0, { contract: { endedByOperatorAt: at(0) } }],
    ['link_removed', 0, 15, { link: { removedEventAt: at(0) } }, 24 * 60],
    ['link_absent', 10, 25, { link: { absences: twice } }, 10 + 24 * 60],
    ['participation_left', 10, 25, { participation: { absences: twice } }],
    [
      'grant_revoked',
      2,
      2 + 24 * 60,
      { grant: { revokedEventAt: at(0), revokedReceivedAt: at(2) } },
    ],
  ] as const)('by %s', (cause, since, due, changes, withHeir?: number) => {
    expect(standingOf(facts(changes), graces)).toEqual({
      stands: false,
      falls: [{ cause, since: at(since), dueAt: at(due), dueWithHeirAt: at(withHeir ?? due) }],
    });
  });

  it('by what was delivered, where an end was both delivered and read', () => {
    const contract = { endedEventAt: at(5), endedReadAt: at(0), endedByOperatorAt: at(1) };
    expect(standingOf(facts({ contract }), graces)).toMatchObject({
      falls: [{ cause: 'contract_ended', since: at(5), dueAt: at(5) }],
    });
  });

  it.each([
    [
      'the end of the contract, which was said outright, before a link that fell earlier',
      { link: { removedEventAt: at(-60) }, contract: { endedEventAt: at(9) } },
      'contract_ended',
    ],
    [
      'the link, whose grace is shorter than that of a grant',
      {
        link: { removedEventAt: at(60) },
        grant: { revokedEventAt: at(0), revokedReceivedAt: at(0) },
      },
      'link_removed',
    ],
    [
      'the grant, once its longer grace is over first',
      {
        link: { removedEventAt: at(24 * 60) },
        grant: { revokedEventAt: at(0), revokedReceivedAt: at(0) },
      },
      'grant_revoked',
    ],
  ] as const)('first by %s', (_, changes, cause) => {
    expect(standingOf(facts(changes), graces)).toMatchObject({
      stands: false,
      falls: [{ cause }, expect.anything()],
    });
  });

  it('also where it could not have stood in the end', () => {
    const changes = { contract: { startedEventAt: null, endedEventAt: at(0) } };
    expect(standingOf(facts(changes), graces)).toMatchObject({
      falls: [{ cause: 'contract_ended' }],
    });
  });
});

describe('isExplicit', () => {
  it('is what somebody said outright, and nothing that was only missed', () => {
    expect(removalCauses.filter(isExplicit)).toEqual([
      'contract_ended',
      'contract_read_ended',
      'contract_ended_by_operator',
      'retired',
    ]);
  });
});
