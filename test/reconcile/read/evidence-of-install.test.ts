import { describe, expect, it } from 'vitest';
import { type Evidence, emptyContract, emptyGrant, emptyLink, toPair } from '../../../src/domain/evidence.ts';
import type { Contract, Link, Participant } from '../../../src/marketplace/source.ts';
import type { KnownInstall } from '../../../src/reconcile/read/read-install.ts';
import { byContract, evidenceOfInstall, type InstallRead } from '../../support/read-whole.ts';

const install = 'acme';
const beganAt = '2026-03-15T12:00:00.000Z';

const attributes = {
  externalProjectId: 'signs',
  externalProjectName: null,
  provisioningMode: null,
};
const link = (id: string): Link => ({ id, ...attributes });
const contract = (id: string, status = 'active'): Contract => ({ id, status, title: null, projectLinkIds: ['l1'] });
const person = (opentrainUserId: string): Participant => ({ opentrainUserId, displayName: null, workEmail: null });

function take(read: Partial<InstallRead>, trainersOf: Record<string, string[]> = {}): Evidence[] {
  const contracts = Object.entries(trainersOf).map(([contractId, trainerIds]) => ({
    contractId,
    trainerIds,
    linkIds: ['l1'],
    participantsReadAt: null,
  }));
  const known: KnownInstall = { links: new Map([['l1', null]]), contracts: byContract(contracts) };
  return evidenceOfInstall(
    {
      install,
      beganAt,
      grant: { id: 'g1', status: 'ACTIVE' },
      links: [],
      contracts: [],
      missingLinkIds: [],
      isActiveWhole: true,
      unreadLinks: [],
      participants: new Map(),
      ...read,
    },
    known,
  );
}

function collect<Kind extends keyof Evidence>(steps: Evidence[], kind: Kind): Evidence[Kind] {
  return steps.flatMap((step) => step[kind] as Evidence[Kind][number][]) as Evidence[Kind];
}

const absences = beganAt;

describe('of the grant', () => {
  it.each([
    [
      'is said that it is active',
      'ACTIVE',
      [{ ...emptyGrant(install, 'g1'), firstActiveReadAt: beganAt, activeReadAt: beganAt }],
    ],
    ['is said nothing where it is revoked', 'REVOKED', []],
    ['is said nothing where its status is unknown', 'active', []],
  ])('%s', (_, status, grants) => {
    expect(collect(take({ grant: { id: 'g1', status } }), 'grants')).toEqual(grants);
  });
});

describe('of links', () => {
  const seen = {
    ...emptyLink(install, 'l1'),
    ...attributes,
    firstSeenAt: beganAt,
    seenAt: beganAt,
  };
  const answered = { ...emptyLink(install, 'l1'), contractsReadAt: beganAt };

  it('is said that they are there, and last of all that their contracts are known', () => {
    const steps = take({ links: [link('l1')], contracts: [contract('c1')] });
    expect(steps.map(({ links }) => links)).toEqual([[seen], [], [answered]]);
  });

  it('is not said that their contracts are known where some may be missing', () => {
    expect(collect(take({ links: [link('l1')], isActiveWhole: false }), 'links')).toEqual([seen]);
  });

  it('is said that they were missed', () => {
    expect(collect(take({ missingLinkIds: ['l2'] }), 'links')).toEqual([{ ...emptyLink(install, 'l2'), absences }]);
  });

  it.each(['REVOKED', 'SUSPENDED', ''])('is not said that they were missed where the grant is %j', (status) => {
    const steps = take({ missingLinkIds: ['l2'], grant: { id: 'g1', status } });
    expect(collect(steps, 'links')).toEqual([]);
  });
});

describe('of contracts', () => {
  const row = emptyContract(install, 'c1');
  const on = new Map([['c1', [person('u1')]]]);
  const read = { ...row, participantsReadAt: beganAt };
  const none = new Map([['c1', []]]);

  it.each<[string, Partial<InstallRead>, object[]]>([
    ['is said who was asked for', { participants: on }, [read]],
    ['is said nothing where the answer was empty, so that they are asked for again', { participants: none }, []],
  ])('%s', (_, said, contracts) => {
    expect(collect(take(said), 'contracts')).toEqual(contracts);
  });

  it.each<[string, object, object, boolean]>([
    ['is said that they are on it no more, where others are named', {}, {}, true],
    ['but not where none is named', { projectLinkIds: [] }, {}, false],
    ['but not where it has ended', { status: 'ended' }, {}, false],
    ['nor of a status that is unknown', { status: 'paused' }, {}, false],
    ['but not where the link is gone too', {}, { id: 'l7' }, false],
    ['but not where it is of the same job', { jobId: 'j1' }, { jobId: 'j1' }, false],
    ['also where it is of another job', { jobId: 'j2' }, { jobId: 'j1' }, true],
    ['also where that job is not known', { jobId: 'j2' }, { jobId: null }, true],
  ])('of a known link %s', (_, said, of, isMoved) => {
    const moved = { ...contract('c1'), projectLinkIds: ['l2'], ...said };
    const links = [{ ...link('l1'), ...of }, link('l2')];
    const omitted = collect(take({ contracts: [moved], links }, { c1: ['u1'] }), 'pairs').filter(
      ({ omissions }) => omissions !== null,
    );
    const row = { ...toPair(install, 'c1', 'l1', null), omissions: beganAt };
    expect(omitted).toEqual(isMoved ? [row] : []);
  });

  it('says nothing of links that a contract has left where it is listed as ended too', () => {
    const links = [link('l1'), link('l2')];
    const contracts = [{ ...contract('c1'), projectLinkIds: ['l2'] }, contract('c1', 'ended')];
    const pairs = take({ contracts, links }, { c1: ['u1'] }).flatMap((one) => one.pairs);
    expect(pairs.filter(({ omissions }) => omissions !== null)).toEqual([]);
  });
});

describe('of people', () => {
  const seen = (trainerId: string) => ({ install, contractId: 'c1', trainerId, seenAt: beganAt, absences: null });
  const missed = (trainerId: string) => ({ install, contractId: 'c1', trainerId, seenAt: null, absences });

  it.each<[string, string[] | null, string[], object[]]>([
    ['is said who is there', ['u1', 'u2'], ['u1'], [seen('u1'), seen('u2')]],
    ['is said who is not, where others are', ['u2'], ['u1', 'u3'], [seen('u2'), missed('u1'), missed('u3')]],
    ['is said nothing where the answer lists no trainer', [], ['u1'], []],
    ['is said nothing where the participants were not read', null, ['u1'], []],
    ['is said only who is there where no trainer was known', ['u1'], [], [seen('u1')]],
  ])('%s', (_, present, known, participations) => {
    const participants = new Map(present === null ? [] : [['c1', present.map(person)]]);
    const steps = take({ contracts: [contract('c1')], participants }, { c1: known });
    expect(collect(steps, 'participations')).toEqual(participations);
  });

  it('is said nothing of those on other contracts', () => {
    const participants = new Map([['c1', [person('u2')]]]);
    const contracts = [contract('c1'), contract('c2')];
    const steps = take({ contracts, participants }, { c1: ['u2'], c2: ['u1'] });
    expect(collect(steps, 'participations')).toEqual([seen('u2')]);
  });
});

describe('many contracts', () => {
  it('are taken in steps of fifty, each with its people, and none is lost', () => {
    const ids = Array.from({ length: 120 }, (_, index) => `c${index}`);
    const participants = new Map(ids.map((id) => [id, [person(`u-${id}`)]]));
    const steps = take({
      links: [link('l1')],
      contracts: ids.map((id) => contract(id)),
      participants,
    });
    expect(steps.map(({ pairs }) => pairs.length)).toEqual([0, 50, 50, 20, 0]);
    for (const step of steps) {
      const onThese = step.participations.map(({ contractId }) => contractId);
      expect(onThese).toEqual(step.pairs.map(({ contractId }) => contractId));
    }
    const listed = collect(steps, 'contracts').filter((one) => one.activeReadAt !== null);
    expect(listed.map(({ contractId }) => contractId)).toEqual(ids);
  });
});
