import { describe, expect, it } from 'vitest';
import { AppError, type ErrorCode } from '../../../src/domain/errors.ts';
import type { Evidence } from '../../../src/domain/evidence.ts';
import type { Contract, ContractPage, Link, Participant, SourceReader } from '../../../src/marketplace/source.ts';
import type { KnownInstall, StoredContract } from '../../../src/reconcile/read/read-install.ts';
import { byContract, evidenceOfInstall, readInstall } from '../../support/read-whole.ts';

const { signal } = new AbortController();
const beganAt = '2026-03-15T12:00:00.000Z';
const recently = '2026-03-15T06:00:00.000Z';
const longAgo = '2026-03-15T05:59:59.999Z';
const later = '2026-03-15T06:00:00.001Z';

const link = (id: string): Link => ({
  id,
  externalProjectId: `p-${id}`,
  externalProjectName: null,
  provisioningMode: null,
});
const contract = (id: string, status = 'active', projectLinkIds = ['l1']): Contract => ({
  id,
  status,
  title: null,
  projectLinkIds,
});
const person = (opentrainUserId: string): Participant => ({
  opentrainUserId,
  displayName: null,
  workEmail: `${opentrainUserId}@opentrain.work`,
});
const known = (contractId: string, changes: Partial<StoredContract> = {}): StoredContract => ({
  contractId,
  linkIds: ['l1'],
  trainerIds: ['u1'],
  participantsReadAt: recently,
  ...changes,
});

/** Live links, first seen long ago. */
const knownLinks = (...ids: string[]) => new Map(ids.map((id) => [id, longAgo]));

interface Marketplace {
  status: string;
  /** Whether the customer shares work addresses. */
  piiConsent: boolean | undefined;
  links: Link[];
  /** Those that are not listed, and are there all the same. */
  hiddenLinks: Link[];
  /** By `status` or `status link`. */
  pages: Record<string, Partial<ContractPage>>;
  /** By contract; of others nothing is known. */
  participants: Record<string, Participant[]>;
}

/** What is known: one link, one contract, one person; and the marketplace says the same. */
function open(said: Partial<Marketplace> = {}, remembered: Partial<KnownInstall> = {}) {
  const asked: string[] = [];
  const { status, piiConsent, links, hiddenLinks, pages, participants }: Marketplace = {
    status: 'ACTIVE',
    piiConsent: undefined,
    links: [link('l1')],
    hiddenLinks: [],
    pages: { active: { contracts: [contract('c1')] } },
    participants: { c1: [person('u1')] },
    ...said,
  };
  const answer = <T>(name: string, value: T | undefined): Promise<T> => {
    asked.push(name);
    const missing = new AppError('not_found', 'answered 404', { status: 404 });
    return value === undefined ? Promise.reject(missing) : Promise.resolve(value);
  };
  const api: SourceReader = {
    readGrant: () => answer('install', { id: 'g1', status, ...(piiConsent !== undefined && { piiConsent }) }),
    listLinks: () => answer('links', [...links]),
    readLink: (id) =>
      answer(
        `link ${id}`,
        hiddenLinks.find((one) => one.id === id),
      ),
    listContracts({ status: wanted, projectLinkId }) {
      const page = projectLinkId === undefined ? wanted : `${wanted} ${projectLinkId}`;
      return answer<ContractPage>(page, { contracts: [], isComplete: true, ...pages[page] });
    },
    listParticipants: (id) => answer(`on ${id}`, participants[id]),
  };
  const knownInstall = { links: knownLinks('l1'), contracts: byContract([known('c1')]), ...remembered };
  const read = (source = api) => readInstall(source, 'acme', knownInstall, beganAt, signal);
  return { api, asked, read, learn: async () => learn(await read(), knownInstall) };
}

/** What a read adds, in one. */
function learn(...args: Parameters<typeof evidenceOfInstall>) {
  const steps = evidenceOfInstall(...args);
  const all = <Kind extends keyof Evidence>(kind: Kind) =>
    steps.flatMap((step) => step[kind] as Evidence[Kind][number][]);
  return {
    contracts: all('contracts'),
    links: all('links'),
    participations: all('participations'),
  };
}

/** What could lead to a removal: an end that was read, or something missed. */
async function findEnds(opened: ReturnType<typeof open>): Promise<object[]> {
  const { contracts, links, participations } = await opened.learn();
  return [
    ...contracts.filter(({ endedReadAt }) => endedReadAt !== null),
    ...links.filter(({ absences, removedEventAt }) => (absences ?? removedEventAt) !== null),
    ...participations.filter(({ absences }) => absences !== null),
  ];
}

describe('reading an install', () => {
  it('asks for the grant, the links, and active contracts before ended ones', async () => {
    const { asked, read } = open();
    expect(await read()).toEqual({
      install: 'acme',
      beganAt,
      grant: { id: 'g1', status: 'ACTIVE' },
      links: [link('l1')],
      missingLinkIds: [],
      unreadLinks: [],
      contracts: [contract('c1')],
      isActiveWhole: true,
      participants: new Map(),
    });
    expect(asked).toEqual(['install', 'links', 'active', 'ended']);
  });

  it.each<[string, Partial<StoredContract>, boolean]>([
    ['not of one that was read within 6 hours', {}, false],
    ['of one that was read longer ago', { participantsReadAt: longAgo }, true],
    ['of one that was never read', { participantsReadAt: null }, true],
    ['of one on which no trainer is known', { trainerIds: [] }, true],
  ])('asks who is on an active contract: %s', async (_, changes, isAsked) => {
    const { asked, read } = open({}, { contracts: byContract([known('c1', changes)]) });
    const { participants } = await read();
    expect(asked.includes('on c1')).toBe(isAsked);
    expect([...participants.keys()]).toEqual(isAsked ? ['c1'] : []);
  });

  it.each<[string, string, boolean | undefined, boolean]>([
    ['not within an hour', '2026-03-15T11:00:00.000Z', true, false],
    ['an hour after', '2026-03-15T10:59:59.999Z', true, true],
    [
      'an hour after, where it is not known whether the customer shares any',
      '2026-03-15T10:59:59.999Z',
      undefined,
      true,
    ],
    ['not within six hours, where the customer shares none', recently, false, false],
    ['six hours after, where the customer shares none', longAgo, false, true],
  ])('asks again who is on a contract with an unknown work address: %s', async (_, readAt, piiConsent, isAsked) => {
    const contracts = byContract([known('c1', { participantsReadAt: readAt, lacksAddress: true })]);
    const { asked, read } = open({ piiConsent }, { contracts });
    await read();
    expect(asked.includes('on c1')).toBe(isAsked);
  });

  it.each<[string, KnownInstall['links'], boolean]>([
    ['not on a link that was there before', new Map([['l1', recently]]), false],
    ['not on a link of which that is unknown', new Map([['l1', null]]), false],
    ['on a link that came after that', new Map([['l1', later]]), true],
    ['on a link that is new in this reading', new Map(), true],
  ])('asks again who is on an active contract: %s', async (_, links, isAsked) => {
    const { asked, read } = open({}, { links });
    await read();
    expect(asked.includes('on c1')).toBe(isAsked);
  });

  it('does not ask again because of a link that no list has', async () => {
    const { asked, read } = open({ pages: { active: { contracts: [contract('c1', 'active', ['l1', 'l2'])] } } });
    await read();
    expect(asked).not.toContain('on c1');
  });

  it('asks who is on a contract that it did not know', async () => {
    const { asked, read } = open({}, { contracts: new Map() });
    expect((await read()).participants).toEqual(new Map([['c1', [person('u1')]]]));
    expect(asked).toContain('on c1');
  });

  it('asks for every link where a page is full', async () => {
    const { asked, read } = open({
      links: [link('l1'), link('l2')],
      pages: {
        active: { contracts: [contract('c1')], isComplete: false },
        'active l2': { contracts: [contract('c2', 'active', ['l2'])] },
      },
      participants: { c2: [person('u2')] },
    });
    const { contracts, isActiveWhole } = await read();
    expect(contracts.map(({ id }) => id)).toEqual(['c1', 'c2']);
    expect(isActiveWhole).toBe(true);
    expect(asked).toEqual(['install', 'links', 'active', 'active l1', 'active l2', 'ended', 'on c2']);
  });

  it('asks for older ended contracts only if it looks for one, by its links', async () => {
    const others = { contracts: [contract('c2')] };
    const participants = { c2: [person('u2')] };
    const pages = { active: others, ended: { isComplete: false } };
    const links = [link('l1'), link('l2')];
    const two = { links: knownLinks('l1', 'l2'), contracts: byContract([known('c2', { trainerIds: ['u2'] })]) };
    const all = open({ links, pages, participants }, two);
    await all.read();
    expect(all.asked.slice(2)).toEqual(['active', 'ended']);

    const found = { ...pages, 'ended l1': { contracts: [contract('c1', 'ended')] } };
    const contracts = byContract([known('c1'), ...two.contracts.values()]);
    const one = open({ links, pages: found, participants }, { ...two, contracts });
    const { contracts: listed } = await one.read();
    expect(one.asked.slice(2)).toEqual(['active', 'ended', 'ended l1']);
    expect(listed.map(({ id }) => id)).toEqual(['c2', 'c1']);
  });

  it('asks by id for a link that is not listed, and uses it if it exists', async () => {
    const { read, asked } = open({ links: [], hiddenLinks: [link('l1')] });
    expect(await read()).toMatchObject({ links: [link('l1')], missingLinkIds: [] });
    expect(asked).toContain('link l1');
  });

  it('reports a link as missing that is neither listed nor found by id', async () => {
    const { read } = open({ links: [link('l2')] });
    expect(await read()).toMatchObject({ links: [link('l2')], missingLinkIds: ['l1'] });
  });

  it.each<[string, Partial<StoredContract>, boolean]>([
    ['not where that was read within 6 hours', {}, false],
    ['where it was read longer ago', { participantsReadAt: longAgo }, true],
  ])('asks who is on a contract that no list has: %s', async (_, changes, isAsked) => {
    const others = { contracts: [contract('c2')] };
    const contracts = byContract([known('c1', changes), known('c2', { trainerIds: ['u2'] })]);
    const { asked, read } = open({ pages: { active: others } }, { contracts });
    expect([...(await read()).participants.keys()]).toEqual(isAsked ? ['c1'] : []);
    expect(asked.includes('on c1')).toBe(isAsked);
  });
});

const operations = [
  ...(['readGrant', 'listLinks', 'readLink'] as const),
  ...(['listContracts', 'listParticipants'] as const),
];
const failures: ErrorCode[] = [
  ...(['unauthenticated', 'forbidden', 'rate_limited', 'unavailable', 'invalid'] as const),
  ...(['internal', 'too_large'] as const),
];

describe('a read that fails', () => {
  it.each(operations)('in %s fails as a whole, so that nothing follows from it', async (operation) => {
    for (const code of failures) {
      // Everything is missing, so that everything is asked for.
      const { api, read } = open({ links: [] }, { contracts: new Map() });
      const failing = { ...api, [operation]: () => Promise.reject(new AppError(code, 'no')) };
      await expect(read(failing)).rejects.toMatchObject({ code });
    }
  });

  it.each(['readGrant', 'listLinks', 'listContracts'] as const)(
    'by a 404 of %s fails as a whole, too',
    async (operation) => {
      const { api, read } = open();
      const lost = { ...api, [operation]: () => Promise.reject(new AppError('not_found', '404')) };
      await expect(read(lost)).rejects.toMatchObject({ code: 'not_found' });
    },
  );

  it('by an unexpected error fails as a whole', async () => {
    const { api, read } = open();
    const odd = { ...api, listContracts: () => Promise.reject(new TypeError('odd')) };
    await expect(read(odd)).rejects.toThrow('odd');
  });
});

describe('nothing that leads to a removal follows', () => {
  const two = byContract([known('c1'), known('c2', { trainerIds: ['u2'] })]);
  const others = { contracts: [contract('c2')] };

  it.each<[string, Partial<Marketplace>, Partial<KnownInstall>]>([
    ['where everything is as it was', {}, {}],
    ['from an empty list of active contracts', { pages: {} }, { contracts: two }],
    ['from empty lists of everything', { links: [], pages: {}, participants: {} }, { links: knownLinks() }],
    [
      'from a page that is full, with the pages of its links full too',
      {
        pages: { active: { ...others, isComplete: false }, 'active l1': { isComplete: false } },
        participants: { c1: [person('u1')], c2: [person('u2')] },
      },
      { contracts: two },
    ],
    [
      'from a page that is full, and one of its links with a full page',
      {
        links: [link('l1'), link('l2')],
        pages: { active: { ...others, isComplete: false }, 'active l1': { isComplete: false } },
        participants: { c1: [person('u1')] },
      },
      { contracts: two },
    ],
    [
      'from a contract in no list, whose participants are unknown',
      { pages: { active: others }, participants: { c2: [person('u2')] } },
      { contracts: two },
    ],
    [
      'from a contract in no list, with its people still on it',
      { pages: { active: others }, participants: { c1: [person('u1')], c2: [person('u2')] } },
      { contracts: byContract([known('c1', { participantsReadAt: longAgo })]) },
    ],
    [
      'from a contract in no list, whose links are all gone',
      { pages: { active: others } },
      { contracts: byContract([known('c1', { linkIds: ['l0'] }), known('c2', { trainerIds: ['u2'] })]) },
    ],
    ['from an unknown status', { pages: { active: { contracts: [contract('c1', 'paused')] } } }, {}],
    [
      'from an unknown status, among the ended',
      { pages: { active: others, ended: { contracts: [contract('c1', 'archived')] } } },
      { contracts: two },
    ],
    [
      'from a contract without trainers',
      { participants: { c1: [] } },
      { contracts: byContract([known('c1', { participantsReadAt: null })]) },
    ],
    [
      'from participants that are unknown',
      { participants: {} },
      { contracts: byContract([known('c1', { participantsReadAt: null })]) },
    ],
    ['from a link that is not listed, and there', { links: [], hiddenLinks: [link('l1')] }, {}],
    ['from a link that is gone, where the grant is not active', { status: 'REVOKED', links: [link('l2')] }, {}],
    ['from a link that is gone, where the grant is unknown', { status: 'SUSPENDED', links: [link('l2')] }, {}],
  ])('%s', async (_, said, remembered) => {
    expect(await findEnds(open(said, remembered))).toEqual([]);
  });

  it('unless a link or a trainer is missing from a complete read', async () => {
    const participants = { c1: [person('u9')], c2: [person('u2')] };
    const missing = open(
      { links: [link('l1'), link('l2')], pages: { active: others }, participants },
      { links: knownLinks('l1', 'l3'), contracts: byContract([known('c1', { participantsReadAt: longAgo })]) },
    );
    expect(await findEnds(missing)).toMatchObject([
      { linkId: 'l3', absences: beganAt },
      { contractId: 'c1', trainerId: 'u1', absences: beganAt },
    ]);
  });
});
