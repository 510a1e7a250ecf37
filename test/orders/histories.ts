import {
  type Access,
  type Arrival,
  ended,
  endedBriefly,
  linked,
  listed,
  reading,
  refusedReading,
  revoked,
  started,
  startedBriefly,
  unasked,
  unlinked,
  untrue,
} from './arrivals.ts';

/** What happened to up to three customers, as up to seven arrivals of which one is faulty, and who belongs where afterwards. */
export interface History {
  name: string;
  /** In order of occurrence. */
  arrivals: readonly Arrival[];
  /** Everyone who should be in a group in the end, as `project/trainer`. */
  roster: readonly string[];
}

const c1: Access = { install: 'acme', contract: 'c1', link: 'l1', trainer: 't1' };
const c1OfOther: Access = { ...c1, trainer: 't2' };
/** After it was moved to the job of another project. */
const c1Moved: Access = { ...c1, link: 'l3' };
const c2: Access = { install: 'acme', contract: 'c2', link: 'l1', trainer: 't1' };
const c2OfOther: Access = { ...c2, trainer: 't2' };
const c2OfLamps: Access = { ...c2OfOther, link: 'l3' };
/** The same person in the same project, through another customer. */
const d1: Access = { install: 'globex', contract: 'd1', link: 'k1', trainer: 't1' };
const d1OfOther: Access = { ...d1, trainer: 't2' };

/** And through a third customer. */
const e1: Access = { install: 'initech', contract: 'e1', link: 'm1', trainer: 't1' };

const d2OfOther: Access = { ...d1OfOther, contract: 'd2' };

const day = 24 * 60;

const events: History[] = [
  {
    name: 'a list that is silently cut off',
    arrivals: [
      started(c1, 0),
      started(d1OfOther, 2),
      started(c2, 5),
      ended(c1, 30),
      ended(d1OfOther, 40),
      reading('acme', 60, { links: ['l1'], active: [unasked(c2)], ended: [unasked(c1)] }),
      reading('acme', 90, { links: ['l1'], active: [{ id: 'c9', on: ['l1'], who: ['t9'] }] }),
    ],
    roster: ['signs/t1', 'signs/t9'],
  },
  {
    name: 'a renewal, and an empty list',
    arrivals: [
      started(c1, 0),
      started(d1, 1),
      ended(d1, 50),
      ended(c1, 100),
      started(c2, 101),
      reading('acme', 120, { links: [] }),
      reading('acme', 130, { links: ['l1'], active: [listed(c2)], ended: [unasked(c1)] }),
    ],
    roster: ['signs/t1'],
  },
  {
    name: 'a mistaken end, a real one, and a stale list',
    arrivals: [
      started(c1, 0),
      started(c2OfOther, 1),
      ended(c1, 10),
      ended(c2OfOther, 20),
      reading('acme', 29, { links: ['l1'], active: [listed(c1), untrue(c2OfOther)] }),
      reading('acme', 40, { links: ['l1'], active: [listed(c1)] }),
    ],
    roster: ['signs/t1'],
  },
  {
    name: 'an end that was read, and a list that is older than it seems',
    arrivals: [
      started(c1, 0),
      started({ ...c2, link: 'l3' }, 1),
      reading('acme', 20, { links: ['l1', 'l3'], active: [listed({ ...c2, link: 'l3' })], ended: [unasked(c1)] }),
      reading('acme', 60, { links: ['l1', 'l3'], active: [untrue(c1), listed({ ...c2, link: 'l3' })] }),
      started(d1OfOther, 70),
      endedBriefly(d1OfOther, 80),
    ],
    roster: ['lamps/t1'],
  },
  {
    name: 'events with only the guaranteed fields, and a corrupted one',
    arrivals: [
      startedBriefly(c1, 0),
      reading('acme', 5, { links: ['l1'], active: [listed(c1)] }),
      started(c2OfOther, 10),
      started(d1, 11),
      endedBriefly(c2OfOther, 30),
      ended(d1, 40, {
        undatedBody: JSON.stringify({
          type: 'contract.ended',
          resourceId: 'd1',
          createdAt: '2999-01-01T00:00:00.000Z',
          data: { contract: { id: 'd1', title: 7 }, freelancer: 'nobody', projectLink: [] },
        }),
      }),
    ],
    roster: ['signs/t1'],
  },
  {
    name: 'a start that is delivered long after it happened',
    arrivals: [
      { ...started(c1, -40 * day, { receivedMin: 0 }), shows: [] },
      { ...ended(c2, -41 * day, { receivedMin: 1 }), shows: [] },
      started(c2OfOther, 2),
      started(d1, 3),
      ended(d1, 4),
      { ...started(d1OfOther, -35 * day, { receivedMin: 5 }), shows: [] },
    ],
    roster: [],
  },
  {
    name: 'two customers who know different addresses, or none',
    arrivals: [
      started(c1, 0),
      started(d1, 1, { workEmail: 'amara@globex.example' }),
      started(c1OfOther, 2, { workEmail: null }),
      started(d2OfOther, 3),
      ended(c1, 30),
      ended(d2OfOther, 31),
    ],
    roster: ['signs/t1'],
  },
];

const ofLinks: History[] = [
  {
    name: 'a link that is removed and made again, and a list without it',
    arrivals: [
      started(c1, 0),
      started(d1OfOther, 5),
      reading('acme', 20, { links: [], active: [listed(c1)] }),
      unlinked('acme', 'l1', 30),
      linked('acme', 'l2', 35),
      reading('acme', 50, { links: ['l2'], active: [listed({ ...c1, link: 'l2' })] }),
    ],
    roster: ['signs/t1', 'signs/t2'],
  },
  {
    name: 'a project that is linked to another job',
    arrivals: [
      started(c1, 0),
      started(d1OfOther, 5),
      unlinked('acme', 'l1', 30),
      linked('acme', 'l2', 31),
      started({ ...c2OfOther, link: 'l2' }, 40),
      reading('acme', 95, { links: ['l2'], active: [listed({ ...c2OfOther, link: 'l2' })] }),
      refusedReading('acme', 120),
    ],
    roster: ['signs/t2'],
  },
  {
    name: 'a contract that is moved to another job, and a list without its links',
    arrivals: [
      started(c1, 0),
      started(d1OfOther, 1),
      reading('acme', 10, { links: ['l1', 'l3'], active: [listed(c1)] }),
      reading('acme', 60, { links: ['l1', 'l3'], active: [listed(c1Moved)], doubts: [{ contract: 'c1', link: 'l1' }] }),
      reading('acme', 65, { links: ['l1', 'l3'], active: [{ id: 'c1', on: [], who: ['t1'] }] }),
      reading('acme', 75, { links: ['l1', 'l3'], active: [listed(c1Moved)], doubts: [{ contract: 'c1', link: 'l1' }] }),
    ],
    roster: ['lamps/t1', 'signs/t2'],
  },
  {
    name: 'a contract that two lists show under another job, and one between them correctly',
    arrivals: [
      started(c1, 0),
      reading('acme', 10, { links: ['l1', 'l3'], active: [untrue(c1Moved)], doubts: [{ contract: 'c1', link: 'l1' }] }),
      reading('acme', 20, { links: ['l1', 'l3'], active: [listed(c1)] }),
      started(d1OfOther, 21),
      reading('acme', 25, { links: ['l1', 'l3'], active: [untrue(c1Moved)], doubts: [{ contract: 'c1', link: 'l1' }] }),
      ended(d1OfOther, 30),
    ],
    // The trainer also got into the other project, and only an end of a contract there ends that.
    roster: ['lamps/t1', 'signs/t1'],
  },
  {
    name: 'a link that disappears without an event',
    arrivals: [
      started(c1, 0),
      started(c2OfLamps, 1),
      reading('acme', 60, { links: ['l3'], active: [listed(c2OfLamps)], doubts: [{ link: 'l1' }] }),
      reading('acme', 75, { links: ['l3'], active: [listed(c2OfLamps)], doubts: [{ link: 'l1' }] }),
      started(d1OfOther, 80),
      refusedReading('acme', 90),
    ],
    roster: ['lamps/t2', 'signs/t2'],
  },
  {
    name: 'a link that sometimes answers 404',
    arrivals: [
      started(c1, 0),
      reading('acme', 60, { links: ['l3'], active: [unasked(c1)], doubts: [{ link: 'l1' }] }),
      reading('acme', 75, { links: ['l1', 'l3'], active: [listed(c1)] }),
      reading('acme', 90, { links: ['l3'], active: [unasked(c1)], doubts: [{ link: 'l1' }] }),
      reading('acme', 96, { links: ['l3'], doubts: [{ link: 'l1' }] }),
      started(d1OfOther, 97),
      ended(d1OfOther, 98),
    ],
    roster: ['signs/t1'],
  },
  {
    name: 'one of two links to a project',
    arrivals: [
      started(c1, 0),
      started({ ...c1, link: 'l2' }, 1),
      started({ ...c2OfOther, link: 'l2' }, 2),
      unlinked('acme', 'l2', 30),
      started(d1, 40),
      ended(d1, 50),
      reading('acme', 60, { links: [] }),
    ],
    roster: ['signs/t1'],
  },
];

const ofPeople: History[] = [
  {
    name: 'participants who change, and an empty answer',
    arrivals: [
      started(c1, 0),
      started(c1OfOther, 1),
      reading('acme', 420, { links: ['l1'], active: [listed(c1, 't3')], doubts: [{ contract: 'c1', trainer: 't2' }] }),
      reading('acme', 425, { links: ['l1'], active: [{ id: 'c1', on: ['l1'], who: [] }] }),
      reading('acme', 435, { links: ['l1'], active: [listed(c1, 't3')], doubts: [{ contract: 'c1', trainer: 't2' }] }),
      started(d1, 436),
      ended(d1, 437),
    ],
    roster: ['signs/t1', 'signs/t3'],
  },
  {
    name: 'a participant who is missing from one answer, and from another within minutes',
    arrivals: [
      started(c1, 0),
      started(c1OfOther, 1),
      reading('acme', 420, { links: ['l1'], active: [listed(c1, 't3')] }),
      reading('acme', 425, { links: ['l1'], active: [listed(c1, 't3')] }),
      reading('acme', 440, { links: ['l1'], active: [listed(c1, 't2')] }),
      started(d1, 441),
      unlinked('globex', 'k1', 450),
    ],
    roster: ['signs/t1', 'signs/t2', 'signs/t3'],
  },
  {
    name: 'a customer who disconnects and reconnects',
    arrivals: [
      started(c1, 0),
      reading('acme', 5, { links: ['l1'], active: [listed(c1)] }),
      revoked('acme', 'acme-g1', 30),
      refusedReading('acme', 40),
      reading('acme', 60, { grant: 'acme-g2', links: ['l2'], active: [listed({ ...c1, link: 'l2' })] }),
      started(d1OfOther, 70),
      ended(d1OfOther, 80),
    ],
    roster: ['signs/t1'],
  },
  {
    name: 'a customer who disconnects for good, beside another',
    arrivals: [
      reading('acme', 0, { links: ['l1'], active: [listed(c1, 't2')] }),
      started(c2OfLamps, 1),
      revoked('acme', 'acme-g1', 30),
      refusedReading('acme', 40),
      started(d1, 50),
      started(d2OfOther, 51),
      ended(d2OfOther, 60),
    ],
    roster: ['signs/t1'],
  },
  {
    name: 'a revocation of a grant that was replaced',
    arrivals: [
      reading('acme', 0, { links: ['l1'], active: [listed(c1)] }),
      reading('acme', 20, { grant: 'acme-g2', links: ['l1'], active: [listed(c1)] }),
      revoked('acme', 'acme-g1', 30),
      started(c2OfOther, 40),
      unlinked('globex', 'k1', 41),
      started(d1OfOther, 42),
    ],
    roster: ['signs/t1', 'signs/t2'],
  },
];

const ofAddresses: History[] = [
  {
    name: 'two customers without consent beside a third whose contract ends',
    arrivals: [
      started(c1, 0),
      started(d1, 1, { workEmail: null }),
      started(e1, 2, { workEmail: null }),
      ended(c1, 30),
      ended(e1, 31),
    ],
    roster: ['signs/t1'],
  },
  {
    name: 'a consent that comes after the hire and is withdrawn',
    arrivals: [
      started(d1, 0, { workEmail: null }),
      started(c1, 1),
      reading('globex', 10, { links: ['k1'], active: [listed(d1)] }),
      reading('globex', 20, { links: ['k1'], active: [listed(d1)], isUnshared: true }),
      started(e1, 21, { workEmail: null }),
      ended(c1, 30),
    ],
    roster: ['signs/t1'],
  },
  {
    name: 'an address that comes late and differs from the one that others know',
    arrivals: [
      started(d1, 0, { workEmail: null }),
      started(c1, 1),
      started(e1, 2, { workEmail: null }),
      started(d1, 20, { workEmail: 'amara@globex.example' }),
      ended(c1, 30),
      ended(e1, 40),
    ],
    roster: ['signs/t1'],
  },
];

export const histories: readonly History[] = [...events, ...ofLinks, ...ofPeople, ...ofAddresses];
