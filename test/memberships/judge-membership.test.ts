import { describe, expect, it } from 'vitest';
import type { ReasonEnd, RemovalCause, Standing } from '../../src/domain/standing.ts';
import { judgeMembership, type Reason, type SuccessorLink } from '../../src/memberships/judge-membership.ts';

const noon = '2026-03-15T12:00:00.000Z';
const later = '2026-03-15T12:15:00.000Z';
const nextDay = '2026-03-16T12:00:00.000Z';
const stands: Standing = { stands: true };
const notYet: Standing = { stands: false, ends: [] };

function endedBy(cause: RemovalCause, dueAt: string): Standing {
  const isOfLink = cause === 'link_removed' || cause === 'link_absent';
  const end: ReasonEnd = { cause, since: noon, dueAt, dueWithSuccessorAt: isOfLink ? nextDay : dueAt };
  return { stands: false, ends: [end] };
}
const ended = endedBy('contract_ended', noon);
const unlinked = endedBy('link_removed', later);

function reason(standing: Standing, changes: Partial<Reason> = {}): Reason {
  return {
    install: 'acme',
    contractId: 'c1',
    linkId: 'l1',
    externalProjectId: 'signs',
    jobId: null,
    activeReadAt: null,
    provisioning: 'ours',
    isRouted: true,
    standing,
    ...changes,
  };
}

function successor(changes: Partial<SuccessorLink> = {}): SuccessorLink {
  return {
    install: 'acme',
    linkId: 'l2',
    externalProjectId: 'signs',
    provisioningMode: 'PARTNER_WEBHOOK',
    jobId: null,
    firstSeenAt: noon,
    contractsReadAt: null,
    ...changes,
  };
}

/** The first by name, as where all know an address. */
function judge(reasons: Reason[], successorLinks: SuccessorLink[] = []) {
  const verdict = judgeMembership(reasons, successorLinks, (installs) => installs.sort()[0]);
  // No order of what is known makes a difference.
  const reversed = judgeMembership([...reasons].reverse(), [...successorLinks].reverse(), (installs) => {
    return installs.sort()[0];
  });
  expect(reversed).toEqual(verdict);
  return verdict;
}

const globex = { install: 'globex', contractId: 'c9', linkId: 'l9' };
const managed = { provisioning: 'of_marketplace' } as const;
const elsewhere = { isRouted: false };
const unwanted = (install: string, cause: RemovalCause, removeAfter: string) => ({
  kind: 'unwanted',
  install,
  cause,
  removeAfter,
});

describe('a trainer is wanted', () => {
  it.each<[string, Reason[], string]>([
    ['for one reason that stands', [reason(stands)], 'acme'],
    ['while one of two contracts stands', [reason(ended), reason(stands, globex)], 'globex'],
    ['while one of two links stands', [reason(unlinked), reason(stands, { linkId: 'l2' })], 'acme'],
    ['by the preferred one of several installs', [reason(stands, globex), reason(stands)], 'acme'],
    ['whatever stands elsewhere', [reason(stands), reason(stands, elsewhere)], 'acme'],
    ['whatever else the marketplace provisions', [reason(stands), reason(stands, { ...globex, ...managed })], 'acme'],
  ])('%s', (_, reasons, install) => {
    expect(judge(reasons)).toEqual({ kind: 'wanted', install });
  });
});

describe('a trainer is orphaned', () => {
  it.each<[string, Reason[]]>([
    ['where no reason is known at all', []],
    ['where what stands is reached no longer', [reason(stands, elsewhere)]],
    ['where what ended is reached no longer', [reason(ended, elsewhere)]],
    [
      'where one reason ended, and one that stands is reached no longer',
      [reason(ended), reason(stands, { ...globex, ...elsewhere })],
    ],
  ])('%s', (_, reasons) => {
    expect(judge(reasons)).toEqual({ kind: 'orphaned' });
  });
});

describe('a trainer under an unknown provisioning mode is kept', () => {
  const unknown = { provisioning: 'unknown' } as const;

  it.each<[string, Reason[], object]>([
    ['while the reason stands', [reason(stands, unknown)], { kind: 'orphaned' }],
    ['whatever else ended', [reason(ended), reason(stands, { ...globex, ...unknown })], { kind: 'orphaned' }],
    [
      'but where another reason stands',
      [reason(stands, globex), reason(stands, unknown)],
      { kind: 'wanted', install: 'globex' },
    ],
    ['until it ends', [reason(ended, unknown)], unwanted('acme', 'contract_ended', noon)],
  ])('%s', (_, reasons, expected) => {
    expect(judge(reasons)).toEqual(expected);
  });
});

describe('a trainer is left to the marketplace', () => {
  it.each<[string, Reason[], SuccessorLink[]]>([
    ['where it provisions the only link', [reason(stands, managed)], []],
    ['where ours ended, and its own stands', [reason(ended), reason(stands, { ...globex, ...managed })], []],
    [
      'where it provisions the link that takes over',
      [reason(unlinked)],
      [successor({ provisioningMode: 'MANAGED_ADAPTER' })],
    ],
    [
      'where it provisions one of several that take over',
      [reason(ended), reason(endedBy('link_absent', later), { linkId: 'l3' })],
      [successor({ provisioningMode: 'MANAGED_ADAPTER' })],
    ],
  ])('%s', (_, reasons, successorLinks) => {
    expect(judge(reasons, successorLinks)).toEqual({ kind: 'managed' });
  });
});

describe('a trainer is no longer wanted', () => {
  it.each<[string, Reason[], object]>([
    ['from the end of the only reason', [reason(ended)], unwanted('acme', 'contract_ended', noon)],
    [
      'from the end of the last of several',
      [reason(ended), reason(unlinked, { linkId: 'l2' })],
      unwanted('acme', 'link_removed', later),
    ],
    [
      'on account of the install whose reason ended last',
      [reason(endedBy('grant_revoked', nextDay)), reason(unlinked, globex)],
      unwanted('acme', 'grant_revoked', nextDay),
    ],
    [
      'on account of the first by name, where two ended at once',
      [reason(ended, globex), reason(ended)],
      unwanted('acme', 'contract_ended', noon),
    ],
    ['whatever never was a reason', [reason(ended), reason(notYet, globex)], unwanted('acme', 'contract_ended', noon)],
    [
      'whatever ended elsewhere',
      [reason(ended), reason(unlinked, { ...globex, ...elsewhere })],
      unwanted('globex', 'link_removed', later),
    ],
    ['where the marketplace provisioned it, too', [reason(ended, managed)], unwanted('acme', 'contract_ended', noon)],
  ])('%s', (_, reasons, expected) => {
    expect(judge(reasons)).toEqual(expected);
  });
});

describe('there is no verdict', () => {
  it('without a reason that has ever stood', () => {
    expect(judge([reason(notYet), reason(notYet, globex)])).toBeNull();
  });
});

describe('a link that may take over', () => {
  const waiting = unwanted('acme', 'link_removed', nextDay);
  const due = unwanted('acme', 'link_removed', later);

  it.each<[string, Partial<SuccessorLink>, object]>([
    ['has the removal wait', {}, waiting],
    ['is none of another project', { externalProjectId: 'lamps' }, due],
    ['is none of another install', { install: 'globex' }, due],
    ['is not the link itself', { linkId: 'l1' }, due],
  ])('%s', (_, changes, expected) => {
    expect(judge([reason(unlinked)], [successor(changes)])).toEqual(expected);
  });

  const read = { contractsReadAt: later, jobId: 'j1' };

  it.each<[string, Partial<SuccessorLink>, Partial<Reason>, object]>([
    ['no more once its contracts were read', { contractsReadAt: later }, {}, due],
    ['until they were, by a reading a minute later', { contractsReadAt: noon }, {}, waiting],
    ['no more where it is of another job', read, { jobId: 'j2' }, due],
    ['of the same job until the contract was listed', read, { jobId: 'j1' }, waiting],
    ['but since it was there', read, { jobId: 'j1', activeReadAt: noon }, waiting],
    ['and then no more', read, { jobId: 'j1', activeReadAt: later }, due],
  ])('takes over %s', (_, changes, of, expected) => {
    expect(judge([reason(unlinked, of)], [successor(changes)])).toEqual(expected);
  });

  it('takes over from an absent link too', () => {
    expect(judge([reason(endedBy('link_absent', later))], [successor()])).toEqual(
      unwanted('acme', 'link_absent', nextDay),
    );
  });

  it.each<RemovalCause>([
    ...(['contract_ended', 'contract_read_ended', 'contract_ended_by_operator'] as const),
    ...(['contract_moved', 'participation_left', 'grant_revoked'] as const),
  ])('takes nothing over from %s', (cause) => {
    expect(judge([reason(endedBy(cause, later))], [successor()])).toEqual(unwanted('acme', cause, later));
  });

  it('does not postpone the end of a reason that has ended for another cause too', () => {
    const [link] = [unlinked].flatMap((one) => (one.stands ? [] : one.ends));
    const [left] = [endedBy('participation_left', later)].flatMap((one) => (one.stands ? [] : one.ends));
    const ends = [link, left].filter((end) => end !== undefined);
    expect(judge([reason({ stands: false, ends })], [successor()])).toEqual(
      unwanted('acme', 'participation_left', later),
    );
  });

  it('makes every trainer wait whose link it may take over, even if another reason has ended', () => {
    expect(judge([reason(ended), reason(unlinked, { contractId: 'c2' })], [successor()])).toEqual(waiting);
  });

  it('replaces only the last of the links of a contract to the project', () => {
    const first = endedBy('link_removed', nextDay);
    const last: Standing = {
      stands: false,
      ends: [{ cause: 'link_removed', since: later, dueAt: later, dueWithSuccessorAt: nextDay }],
    };
    const reasons = [reason(first), reason(last, { linkId: 'l2' })];
    expect(judge(reasons)).toEqual(unwanted('acme', 'link_removed', later));
    const ofTwoContracts = [reason(first, { contractId: 'c2' }), reason(last, { linkId: 'l2' })];
    expect(judge(ofTwoContracts)).toEqual(unwanted('acme', 'link_removed', nextDay));
  });
});
