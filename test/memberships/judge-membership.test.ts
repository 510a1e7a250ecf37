import { describe, expect, it } from 'vitest';
import type { Fall, RemovalCause, Standing } from '../../src/domain/standing.ts';
import { type Ground, type Heir, judgeMembership } from '../../src/memberships/judge-membership.ts';

const noon = '2026-03-15T12:00:00.000Z';
const later = '2026-03-15T12:15:00.000Z';
const nextDay = '2026-03-16T12:00:00.000Z';
const stands: Standing = { stands: true };
const notYet: Standing = { stands: false, falls: [] };

function fell(cause: RemovalCause, dueAt: string): Standing {
  const isOfLink = cause === 'link_removed' || cause === 'link_absent';
  const fall: Fall = { cause, since: noon, dueAt, dueWithHeirAt: isOfLink ? nextDay : dueAt };
  return { stands: false, falls: [fall] };
}
const ended = fell('contract_ended', noon);
const unlinked = fell('link_removed', later);

function ground(standing: Standing, changes: Partial<Ground> = {}): Ground {
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

function heir(changes: Partial<Heir> = {}): Heir {
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
function judge(grounds: Ground[], heirs: Heir[] = []) {
  const verdict = judgeMembership(grounds, heirs, (installs) => installs.sort()[0]);
  // No order of what is known makes a difference.
  const reversed = judgeMembership([...grounds].reverse(), [...heirs].reverse(), (installs) => {
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

describe('somebody is wanted', () => {
  it.each<[string, Ground[], string]>([
    ['for one reason that stands', [ground(stands)], 'acme'],
    ['while one of two contracts stands', [ground(ended), ground(stands, globex)], 'globex'],
    ['while one of two links stands', [ground(unlinked), ground(stands, { linkId: 'l2' })], 'acme'],
    ['by whoever is preferred of several', [ground(stands, globex), ground(stands)], 'acme'],
    ['whatever stands elsewhere', [ground(stands), ground(stands, elsewhere)], 'acme'],
    ['whoever else is provisioned', [ground(stands), ground(stands, { ...globex, ...managed })], 'acme'],
  ])('%s', (_, grounds, install) => {
    expect(judge(grounds)).toEqual({ kind: 'wanted', install });
  });
});

describe('somebody is orphaned', () => {
  it.each<[string, Ground[]]>([
    ['where no reason is known at all', []],
    ['where what stands is reached no longer', [ground(stands, elsewhere)]],
    ['where what ended is reached no longer', [ground(ended, elsewhere)]],
    [
      'where one reason ended, and one that stands is reached no longer',
      [ground(ended), ground(stands, { ...globex, ...elsewhere })],
    ],
  ])('%s', (_, grounds) => {
    expect(judge(grounds)).toEqual({ kind: 'orphaned' });
  });
});

describe('somebody of a mode that nobody knows is kept as they are', () => {
  const unknown = { provisioning: 'unknown' } as const;

  it.each<[string, Ground[], object]>([
    ['while their reason stands', [ground(stands, unknown)], { kind: 'orphaned' }],
    ['whatever else ended', [ground(ended), ground(stands, { ...globex, ...unknown })], { kind: 'orphaned' }],
    [
      'but where another reason stands',
      [ground(stands, globex), ground(stands, unknown)],
      { kind: 'wanted', install: 'globex' },
    ],
    ['until it falls', [ground(ended, unknown)], unwanted('acme', 'contract_ended', noon)],
  ])('%s', (_, grounds, expected) => {
    expect(judge(grounds)).toEqual(expected);
  });
});

describe('somebody is left to the marketplace', () => {
  it.each<[string, Ground[], Heir[]]>([
    ['where it provisions the only link', [ground(stands, managed)], []],
    ['where ours ended, and its own stands', [ground(ended), ground(stands, { ...globex, ...managed })], []],
    [
      'where it provisions the link that takes over',
      [ground(unlinked)],
      [heir({ provisioningMode: 'MANAGED_ADAPTER' })],
    ],
    [
      'where it provisions one of several that take over',
      [ground(ended), ground(fell('link_absent', later), { linkId: 'l3' })],
      [heir({ provisioningMode: 'MANAGED_ADAPTER' })],
    ],
  ])('%s', (_, grounds, heirs) => {
    expect(judge(grounds, heirs)).toEqual({ kind: 'managed' });
  });
});

describe('somebody is no longer wanted', () => {
  it.each<[string, Ground[], object]>([
    ['from the end of the only reason', [ground(ended)], unwanted('acme', 'contract_ended', noon)],
    [
      'from the end of the last of several',
      [ground(ended), ground(unlinked, { linkId: 'l2' })],
      unwanted('acme', 'link_removed', later),
    ],
    [
      'on account of the install whose reason fell last',
      [ground(fell('grant_revoked', nextDay)), ground(unlinked, globex)],
      unwanted('acme', 'grant_revoked', nextDay),
    ],
    [
      'on account of the first by name, where two fell at once',
      [ground(ended, globex), ground(ended)],
      unwanted('acme', 'contract_ended', noon),
    ],
    ['whatever never was a reason', [ground(ended), ground(notYet, globex)], unwanted('acme', 'contract_ended', noon)],
    [
      'whatever ended elsewhere',
      [ground(ended), ground(unlinked, { ...globex, ...elsewhere })],
      unwanted('globex', 'link_removed', later),
    ],
    ['where the marketplace provisioned it, too', [ground(ended, managed)], unwanted('acme', 'contract_ended', noon)],
  ])('%s', (_, grounds, expected) => {
    expect(judge(grounds)).toEqual(expected);
  });
});

describe('nothing follows', () => {
  it('from what never was a reason', () => {
    expect(judge([ground(notYet), ground(notYet, globex)])).toBeNull();
  });
});

describe('a link that may take over', () => {
  const waiting = unwanted('acme', 'link_removed', nextDay);
  const due = unwanted('acme', 'link_removed', later);

  it.each<[string, Partial<Heir>, object]>([
    ['has the removal wait', {}, waiting],
    ['is none of another project', { externalProjectId: 'lamps' }, due],
    ['is none of another install', { install: 'globex' }, due],
    ['is not the link itself', { linkId: 'l1' }, due],
  ])('%s', (_, changes, expected) => {
    expect(judge([ground(unlinked)], [heir(changes)])).toEqual(expected);
  });

  const read = { contractsReadAt: later, jobId: 'j1' };

  it.each<[string, Partial<Heir>, Partial<Ground>, object]>([
    ['no more once its contracts were read', { contractsReadAt: later }, {}, due],
    ['until they were, by a reading a minute later', { contractsReadAt: noon }, {}, waiting],
    ['no more where it is of another job', read, { jobId: 'j2' }, due],
    ['of the same job until the contract was listed', read, { jobId: 'j1' }, waiting],
    ['but since it was there', read, { jobId: 'j1', activeReadAt: noon }, waiting],
    ['and then no more', read, { jobId: 'j1', activeReadAt: later }, due],
  ])('takes over %s', (_, changes, of, expected) => {
    expect(judge([ground(unlinked, of)], [heir(changes)])).toEqual(expected);
  });

  it('takes over from a link that is absent, too', () => {
    expect(judge([ground(fell('link_absent', later))], [heir()])).toEqual(unwanted('acme', 'link_absent', nextDay));
  });

  it.each<RemovalCause>([
    ...(['contract_ended', 'contract_read_ended', 'contract_ended_by_operator'] as const),
    ...(['contract_moved', 'participation_left', 'grant_revoked'] as const),
  ])('takes nothing over from %s', (cause) => {
    expect(judge([ground(fell(cause, later))], [heir()])).toEqual(unwanted('acme', cause, later));
  });

  it('does not put off what falls for another reason too', () => {
    const [link] = [unlinked].flatMap((one) => (one.stands ? [] : one.falls));
    const [left] = [fell('participation_left', later)].flatMap((one) => (one.stands ? [] : one.falls));
    const falls = [link, left].filter((fall) => fall !== undefined);
    expect(judge([ground({ stands: false, falls })], [heir()])).toEqual(unwanted('acme', 'participation_left', later));
  });

  it('has everybody wait whom it may take over, whatever else ended', () => {
    expect(judge([ground(ended), ground(unlinked, { contractId: 'c2' })], [heir()])).toEqual(waiting);
  });
});
