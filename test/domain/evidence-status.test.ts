import { describe, expect, it } from 'vitest';
import { emptyContract, emptyGrant, emptyLink, type GrantEvidence } from '../../src/domain/evidence.ts';
import {
  absentSince,
  areContractsRead,
  isSuspect,
  leftSince,
  provisioningOf,
  revokedGrant,
  statusOfContract,
  statusOfLink,
  wentWithGrant,
} from '../../src/domain/evidence-status.ts';

const before = '2026-03-15T11:00:00.000Z';
const noon = '2026-03-15T12:00:00.000Z';
const justBefore = '2026-03-15T12:09:59.999Z';
const tenPast = '2026-03-15T12:10:00.000Z';
const oneOClock = '2026-03-15T13:00:00.000Z';
const nextDay = '2026-03-16T12:00:00.000Z';
const once = noon;
const tooSoon = `${noon} ${justBefore}`;
const twice = `${noon} ${tenPast}`;

describe('statusOfContract', () => {
  it.each([
    ['unknown', 'of which nothing is known', {}],
    ['unknown', 'of which only the budget was heard', { budgetEventAt: noon }],
    ['unknown', 'whose participants alone were read', { participantsReadAt: noon }],
    ['active', 'that started', { startedEventAt: noon }],
    ['active', 'that a read lists active', { activeReadAt: noon }],
    ['ended', 'whose end was delivered', { endedEventAt: noon }],
    ['ended', 'whose end came before its start', { startedEventAt: nextDay, endedEventAt: noon }],
    ['ended', 'listed active before its end', { endedEventAt: tenPast, activeReadAt: noon }],
    ['ended', 'listed active as it ended', { endedEventAt: noon, activeReadAt: noon }],
    ['ended', 'a millisecond too early', { endedEventAt: noon, activeReadAt: justBefore }],
    ['disputed', 'listed active 10:00 after', { endedEventAt: noon, activeReadAt: tenPast }],
    ['disputed', 'listed active a day after', { endedEventAt: noon, activeReadAt: nextDay }],
    ['ended', 'that a read lists ended', { endedReadAt: noon }],
    ['ended', 'read ended, later read active', { endedReadAt: noon, activeReadAt: nextDay }],
    ['ended', 'disputed until a read lists it ended', { endedEventAt: noon, activeReadAt: tenPast, endedReadAt: noon }],
  ])('is %s for one %s', (status, _, registers) => {
    expect(statusOfContract({ ...emptyContract('acme', 'c1'), ...registers })).toBe(status);
  });

  const started = { startedEventAt: before };

  it.each([
    ['ended', 'ended by an operator', { ...started, endedByOperatorAt: noon }],
    ['ended', 'still listed active', { endedByOperatorAt: noon, activeReadAt: nextDay }],
    ['active', 'reopened after that', { ...started, endedByOperatorAt: noon, reopenedAt: oneOClock }],
    ['ended', 'ended by an operator after that', { ...started, endedByOperatorAt: oneOClock, reopenedAt: noon }],
    ['active', 'whose delivered end was taken back', { ...started, endedEventAt: noon, reopenedAt: oneOClock }],
    ['ended', 'whose end was delivered after that', { ...started, endedEventAt: oneOClock, reopenedAt: noon }],
    ['ended', 'reopened although a read lists it ended', { ...started, endedReadAt: noon, reopenedAt: nextDay }],
    ['unknown', 'reopened, of which nothing else is known', { reopenedAt: noon }],
  ])('is %s for one %s', (status, _, registers) => {
    expect(statusOfContract({ ...emptyContract('acme', 'c1'), ...registers })).toBe(status);
  });
});

describe('statusOfLink', () => {
  const project = { externalProjectId: 'p1' };

  it.each([
    ['unknown', 'of which only the id is known', {}],
    ['unknown', 'that is known by its name alone', { externalProjectName: 'Signs' }],
    ['live', 'that leads to a project', project],
    ['removed', 'that was removed', { ...project, removedEventAt: noon }],
    ['removed', 'whose removal came first', { removedEventAt: noon }],
    ['removed', 'listed after its removal', { ...project, removedEventAt: noon, seenAt: nextDay }],
    ['live', 'missed once', { ...project, seenAt: before, absences: once }],
    ['live', 'missed twice in too short a time', { ...project, seenAt: before, absences: tooSoon }],
    ['absent', 'missed twice', { ...project, seenAt: before, absences: twice }],
    ['live', 'seen in between', { ...project, seenAt: noon, absences: twice }],
    ['live', 'seen since', { ...project, seenAt: oneOClock, absences: twice }],
    ['removed', 'missed and removed', { ...project, removedEventAt: noon, absences: twice }],
  ])('is %s for one %s', (status, _, attributes) => {
    const link = { ...emptyLink('acme', 'l1'), ...attributes };
    expect(statusOfLink(link)).toBe(status);
    if (status === 'absent') expect(absentSince(link)).toBe(tenPast);
  });
});

describe('areContractsRead', () => {
  const [early, late] = ['2026-03-15T12:00:59.999Z', '2026-03-15T12:01:00.000Z'];

  it.each([
    [false, 'were never read', { firstSeenAt: noon, contractsReadAt: null }],
    [false, 'were read as it came', { firstSeenAt: noon, contractsReadAt: noon }],
    [false, 'were read within a minute', { firstSeenAt: noon, contractsReadAt: early }],
    [false, 'were read before that', { firstSeenAt: noon, contractsReadAt: before }],
    [true, 'were read a minute later', { firstSeenAt: noon, contractsReadAt: late }],
    [true, 'were read, and it was never seen', { firstSeenAt: null, contractsReadAt: noon }],
  ])('is %s of a link whose contracts %s', (expected, _of, link) => {
    expect(areContractsRead(link)).toBe(expected);
  });
});

describe('leftSince', () => {
  it.each([
    ['never, of one who was seen', before, null, null],
    ['not by one read without them', before, once, null],
    ['not by two in too short a time', before, tooSoon, null],
    ['by two reads without them', before, twice, tenPast],
    ['not where they were seen in between', noon, twice, null],
    ['not where they were seen again', oneOClock, twice, null],
    ['by two reads of one who was never seen', null, twice, tenPast],
  ])('is %s', (_, seenAt, absences, left) => {
    expect(leftSince({ seenAt, absences })).toBe(left);
  });
});

describe('revokedGrant', () => {
  function grant(grantId: string, registers: Partial<GrantEvidence>): GrantEvidence {
    return { ...emptyGrant('acme', grantId), ...registers };
  }
  const revoked = { revokedEventAt: noon, revokedReceivedAt: tenPast };
  const revokedLate = { revokedEventAt: nextDay, revokedReceivedAt: nextDay };

  it.each<[string, GrantEvidence[], string | null]>([
    ['none of none', [], null],
    ['none where the only one is active', [grant('g1', { activeReadAt: noon })], null],
    ['the only one that is known, and revoked', [grant('g1', revoked)], 'g1'],
    ['the one revoked after it was read active', [grant('g1', { ...revoked, activeReadAt: before })], 'g1'],
    ['none where a later read answered ACTIVE again', [grant('g1', { ...revoked, activeReadAt: oneOClock })], null],
    ['none where the read began as it was revoked', [grant('g1', { ...revoked, activeReadAt: noon })], null],
    [
      'none where the revoked one is old, and another is active',
      [grant('g1', { ...revoked, activeReadAt: before }), grant('g2', { activeReadAt: noon })],
      null,
    ],
    [
      'none where the end of an old one comes late, however late',
      [grant('g1', { activeReadAt: before, ...revokedLate }), grant('g2', { activeReadAt: noon })],
      null,
    ],
    [
      'none where the end of one comes late that was never read',
      [grant('g0', revokedLate), grant('g2', { activeReadAt: noon })],
      null,
    ],
    [
      'none where two were read at once, and the first of them is not revoked',
      [grant('g1', { activeReadAt: before }), grant('g2', { ...revoked, activeReadAt: before })],
      null,
    ],
    [
      'the newer of two, where that is revoked',
      [grant('g1', { activeReadAt: before }), grant('g2', { activeReadAt: noon, ...revokedLate })],
      'g2',
    ],
    [
      'of several that were never read, the one whose end came in last',
      [grant('g1', { ...revoked, revokedReceivedAt: noon }), grant('g2', revoked)],
      'g2',
    ],
  ])('is %s', (_, grants, expected) => {
    expect(revokedGrant(grants)?.grantId ?? null).toBe(expected);
    expect(revokedGrant([...grants].reverse())?.grantId ?? null).toBe(expected);
  });
});

describe('isSuspect', () => {
  const active = { activeReadAt: noon };

  it.each([
    [true, 'a reading did not list', active],
    [true, 'a reading listed with a word that is new', { startedEventAt: noon }],
    [true, 'was disputed', { endedEventAt: before, activeReadAt: noon }],
    [false, 'the reading listed', { activeReadAt: oneOClock }],
    [false, 'a later reading listed', { activeReadAt: nextDay }],
    [false, 'an event has started since', { ...active, startedEventAt: nextDay }],
    [false, 'an operator has reopened since', { ...active, reopenedAt: nextDay }],
    [false, 'has ended', { ...active, endedReadAt: noon }],
    [false, 'nothing is known of', {}],
  ])('is %s of one that %s', (expected, _of, registers) => {
    const contract = { ...emptyContract('acme', 'cmc1'), ...registers };
    expect(isSuspect(contract, oneOClock)).toBe(expected);
  });
});

describe('wentWithGrant', () => {
  const link = { seenAt: noon };
  const revokedAt = { ...emptyGrant('acme', 'g1'), activeReadAt: before, revokedEventAt: tenPast };
  const another = { ...emptyGrant('acme', 'g2'), firstActiveReadAt: oneOClock, activeReadAt: oneOClock };

  it.each([
    [true, 'ended after its grant was revoked', oneOClock, [revokedAt]],
    [true, 'ended as its grant was revoked', tenPast, [revokedAt]],
    [false, 'ended before its grant was revoked', noon, [revokedAt]],
    [true, 'was not seen since another grant came', nextDay, [revokedAt, another]],
    [false, 'ended by itself', oneOClock, [{ ...revokedAt, revokedEventAt: null }]],
  ])('is %s of a link that %s', (expected, _of, goneAt, grants) => {
    expect(wentWithGrant(link, goneAt, grants)).toBe(expected);
  });
});

describe('provisioningOf', () => {
  it.each([
    ['ours', null],
    ['ours', 'PARTNER_WEBHOOK'],
    ['of_marketplace', 'MANAGED_ADAPTER'],
    ['unknown', 'SOMETHING_NEW'],
  ])('is %s for the mode %s', (expected, mode) => {
    expect(provisioningOf(mode)).toBe(expected);
  });
});
