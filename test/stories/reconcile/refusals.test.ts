import { describe, expect, it, onTestFinished } from 'vitest';
import { emptyContract, emptyEvidence } from '../../../src/domain/evidence.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { createPlatformSource } from '../../../src/marketplace/platform/create-platform-source.ts';
import type { DoubtKind } from '../../../src/reconcile/read/doubts.ts';
import { type OpenFresh, openForTest, sqlite } from '../../support/databases.ts';
import { type Asked, type Front, type Instead, type Meddling, openFront } from '../../support/front.ts';
import { createIncident, hours, type Incident, minutes } from '../../support/incident.ts';
import { openSecondMarketplace } from '../../support/second-marketplace/second-marketplace.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

/**
 * Evidence, not absence: what a marketplace may answer over HTTP that looks as if people were gone,
 * read as the bridge reads, twice, hours apart, and far past every grace.
 */

const page = 200;

interface Site {
  incident: Incident;
  front: Front;
  market: Awaited<ReturnType<typeof openSecondMarketplace>>;
  installId: string;
  /** By project. */
  links: Record<string, string>;
  /** Those on `signs`, of `s0`, `s1` and `s2`. */
  contracts: string[];
  unlink(project: string): Promise<void>;
  /** @param timeoutMs how long it waits for an answer */
  read(timeoutMs?: number): Promise<void>;
  members(): string[];
}

/** Two projects, with three people on contracts of their own on one and `l0` on the other. */
async function open(openDatabase: OpenFresh): Promise<Site> {
  const incident = createIncident(await openDatabase());
  const market = await openSecondMarketplace({ clock: incident.engine.clock });
  onTestFinished(() => market.stop());
  const { installId, organizationId, token } = market.createInstall();
  const front = await openFront(market.baseUrl);
  const links: Record<string, string> = {};

  async function call(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${market.baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body && { body: JSON.stringify(body) }),
    });
    return await response.json();
  }
  async function link(externalProjectId: string): Promise<string> {
    const jobId = market.createJob(organizationId);
    const created = await call('POST', '/project-links', { externalProjectId, jobId });
    links[externalProjectId] = (created as { projectLink: { id: string } }).projectLink.id;
    return jobId;
  }

  const signs = await link('signs');
  const contracts = ['s0', 's1', 's2'].map((trainer) => market.hire(signs, [trainer]));
  market.hire(await link('lamps'), ['l0']);
  const pacing = { requestsPerSecond: 10_000, burst: 10_000 };
  const site: Site = {
    incident,
    front,
    market,
    installId,
    links,
    contracts,
    unlink: async (project) => void (await call('DELETE', `/project-links/${links[project]}`)),
    async read(timeoutMs = 10_000) {
      const { baseUrl } = front;
      await incident.readFrom(createPlatformSource({ baseUrl, token, timeoutMs, pacing }));
    },
    members: () => [...incident.tool.members('signs'), ...incident.tool.members('lamps')],
  };
  await site.read();
  expect(site.members()).toEqual(['s0', 's1', 's2', 'l0']);
  return site;
}

/** Reads twice, so far apart that everything is asked again, and lets every grace pass. */
async function readOn({ incident, read }: Site): Promise<void> {
  for (let reads = 0; reads < 2; reads += 1) {
    incident.engine.clock.advance(7 * hours);
    await read();
  }
  for (const grace of [16 * minutes, 25 * hours]) await incident.pass(grace);
}

async function expectAllStay({ incident, contracts, members }: Site): Promise<void> {
  expect(incident.removals()).toEqual([]);
  expect(members()).toHaveLength(contracts.length + 1);
  const states = Object.values(await incident.states());
  expect(new Set(states)).toEqual(new Set(['active']));
  expect(await incident.plans()).toEqual([]);
}

async function runs({ incident }: Site): Promise<{ outcome: string | null; failure: string | null }[]> {
  const rows = await incident.engine.database.kysely
    .selectFrom('run')
    .select(['outcome', 'failure'])
    .orderBy('id')
    .execute();
  return rows.slice(1);
}

async function doubts({ incident }: Site): Promise<Partial<Record<DoubtKind, number>>> {
  const { values } = await incident.engine.metrics.readDoubts.get();
  return Object.fromEntries(values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels.kind, value]));
}

/** Of one operation only. */
const on =
  (operation: RegExp, instead: Instead): Meddling =>
  ({ path, query }) =>
    operation.test(`${path}?${query}`) ? instead : undefined;

const error = { error: 'No', code: 'X', requestId: 'req-1' };
/** One that names its own wait is not asked again at once. */
const later = { 'retry-after': '0' };
const html = '<!doctype html><title>One moment</title>';

const operations: [string, RegExp][] = [
  ['the grant', /^\/installs/],
  ['the links', /^\/project-links(\?|$)/],
  ['the active contracts', /status=active/],
  ['the ended contracts', /status=ended/],
  ['the participants', /participants/],
];

const failures: [string, Instead, RegExp][] = [
  ['401', { status: 401, body: error }, /answered 401/],
  ['403', { status: 403, body: error }, /answered 403/],
  ['429', { status: 429, headers: later, body: error }, /429|left alone/],
  ['500', { status: 500, headers: later, body: error }, /answered 500/],
  ['503', { status: 503, headers: later, body: html }, /answered 503/],
  ['a body that is not JSON', { body: html }, /not JSON/],
  ['JSON that is something else', { body: { message: 'soon' } }, /not what was expected/],
];

/** What is decided here is decided before any database is asked. */
const openFresh: OpenFresh = async () => openForTest(await sqlite.createMigrated());

describe('no member is removed, and the run is written down as failed,', () => {
  it.each(failures)('where an operation answers with %s', async (_, instead, why) => {
    const site = await open(openFresh);
    for (const [name, operation] of operations) {
      site.front.meddle(on(operation, instead));
      await readOn(site);
      expect(
        site.front.asked().some((asked) => operation.test(asked)),
        name,
      ).toBe(true);
    }
    await expectAllStay(site);
    const failed = await runs(site);
    expect(failed).toHaveLength(2 * operations.length);
    for (const run of failed) {
      expect(run).toMatchObject({ outcome: 'failed', failure: expect.stringMatching(why) });
    }
    const isRefusal = instead.status === 401 || instead.status === 403;
    expect(await site.incident.alerts('marketplace_refuses')).toBe(isRefusal ? 1 : 0);
  });

  it('where nothing is answered in time', async () => {
    const site = await open(openFresh);
    site.front.meddle(on(active, { hangs: true }));
    for (let reads = 0; reads < 2; reads += 1) {
      site.incident.engine.clock.advance(hours);
      await site.read(100);
    }
    await site.incident.pass(25 * hours);
    await expectAllStay(site);
    const timedOut = { outcome: 'failed', failure: expect.stringContaining('no answer within') };
    expect(await runs(site)).toMatchObject([timedOut, timedOut]);
  });
});

type Listed = Record<string, unknown>[];

/** Edits what a listing of contracts says. */
const editing =
  (operation: RegExp, edit: (contracts: Listed, asked: Asked) => object): Meddling =>
  async (asked) => {
    if (!operation.test(`${asked.path}?${asked.query}`)) return undefined;
    return { body: edit((await asked.answer())['contracts'] ?? [], asked) };
  };

const active = /status=active/;
const noParticipants = { body: { participants: [] } };

/** As many as were asked for: the rest of a list may be on a page that is never shown. */
function fill(contracts: Listed): object {
  const others = Array.from({ length: page - contracts.length + 1 }, (_, index) => ({
    id: `other-${index}`,
    status: 'active',
    projectLinkIds: [],
  }));
  return { contracts: [...contracts.slice(1), ...others] };
}

/** A second page that has nothing of what was to come, or a smaller one before the last. */
function shrink(contracts: Listed, { query }: Asked): object {
  if (query.has('cursor')) return { contracts: [], nextCursor: null };
  return { contracts: contracts.slice(1), nextCursor: 'more' };
}

const doubtful: [string, Meddling, Partial<Record<DoubtKind, number>>][] = [
  [
    'an empty list of contracts where there were some',
    on(/^\/contracts\?/, { body: { contracts: [] } }),
    { empty_list: 1, unlisted_contract: 4 },
  ],
  [
    'empty lists of everything',
    (asked) =>
      on(/^\/contracts\?/, { body: { contracts: [] } })(asked) ??
      on(/^\/project-links(\?|$)/, { body: { projectLinks: [] } })(asked),
    { empty_list: 1, unlisted_contract: 4 },
  ],
  [
    'a page of exactly as many as were asked for, without one who is known',
    (asked) => (/other-/.test(asked.path) ? noParticipants : editing(active, (contracts) => fill(contracts))(asked)),
    { cut_off_list: 1, unlisted_contract: 1, empty_contract: page },
  ],
  ['a listing that shrinks from page to page', editing(active, shrink), { cut_off_list: 1, unlisted_contract: 1 }],
  [
    'an unknown status',
    editing(active, (contracts) => ({
      contracts: contracts.map((contract) => ({ ...contract, status: 'paused' })),
    })),
    { unknown_status: 4 },
  ],
  ['no trainer on any contract', on(/participants/, noParticipants), { empty_contract: 4 }],
  [
    'contracts that it lists and does not know',
    on(/participants/, { status: 404, body: error }),
    { unknown_contract: 4 },
  ],
];

describe('no member is removed, and an alert says what is in doubt,', () => {
  it.each(doubtful)('where the marketplace answers with %s', async (_, meddling, expected) => {
    const site = await open(openFresh);
    expect(await doubts(site)).toEqual({});
    site.front.meddle(meddling);
    await readOn(site);
    await expectAllStay(site);
    expect(await doubts(site)).toEqual(expected);
    expect(site.incident.engine.log.text()).toContain('that removes no member');
    expect((await runs(site)).map(({ failure }) => failure)).toEqual([null, null]);
    // And it is over once the marketplace says again what there is.
    site.front.meddle();
    await readOn(site);
    await expectAllStay(site);
    expect(await doubts(site)).toEqual({});
  });

  it('where a link, or a contract, is missing a single time', async () => {
    const site = await open(openFresh);
    const lamps = new RegExp(`/project-links/${site.links['lamps']}`);
    const once: [Meddling, object][] = [
      [
        async (asked) => {
          if (lamps.test(asked.path)) return { status: 404, body: { ...error, code: 'NOT_FOUND' } };
          if (asked.path !== '/project-links') return undefined;
          const { projectLinks = [] } = await asked.answer();
          return {
            body: { projectLinks: projectLinks.filter(({ id }) => id !== site.links['lamps']) },
          };
        },
        { unlisted_link: 1 },
      ],
      [editing(active, (contracts) => ({ contracts: contracts.slice(1) })), { unlisted_contract: 1 }],
    ];
    for (const [meddling, expected] of once) {
      site.front.meddle(meddling);
      site.incident.engine.clock.advance(hours);
      await site.read();
      expect(await doubts(site)).toEqual(expected);
      site.front.meddle();
      await readOn(site);
      await expectAllStay(site);
    }
  });

  it('where a contract is in no list, and no answer names its participants', async () => {
    const site = await open(openFresh);
    const [ended = ''] = site.contracts;
    site.market.end(ended);
    const others = on(/status=ended/, { body: { contracts: [] } });
    for (const silent of [noParticipants, { status: 404, body: error }]) {
      site.front.meddle((asked) => {
        return asked.path.includes(ended) ? silent : others(asked);
      });
      await readOn(site);
      await expectAllStay(site);
      expect(await doubts(site)).toMatchObject({ unlisted_contract: 1 });
    }
  });
});

describeAnyDatabase('a trainer who is gone for good is removed after the grace period', (openEither) => {
  /** Reads so that two of them are far enough apart, and lets the grace pass but for a minute. */
  async function readTwice({ incident, read }: Site): Promise<void> {
    for (const wait of [7 * hours, 11 * minutes]) {
      incident.engine.clock.advance(wait);
      await read();
    }
    await incident.pass(14 * minutes);
    expect(incident.removals()).toEqual([]);
    await incident.pass(2 * minutes);
  }

  it('where no event reported that a link was removed', async () => {
    const site = await open(openEither);
    await site.unlink('lamps');
    await readTwice(site);
    expect(site.incident.removals()).toEqual(['remove lamps/l0']);
  });

  it('but for one whose contract ended unheard, and is listed no more: an operator has the word', async () => {
    const site = await open(openEither);
    const { incident } = site;
    const contract = site.contracts[0] ?? '';
    site.market.end(contract);
    site.front.meddle(on(/status=ended/, { body: { contracts: [] } }));
    await readTwice(site);
    await incident.pass(72 * hours);
    expect(incident.removals()).toEqual([]);
    const endedByOperatorAt = toInstant(incident.engine.clock.now());
    const contracts = [{ ...emptyContract('acme', contract), endedByOperatorAt }];
    await incident.engine.merge({ ...emptyEvidence(), contracts });
    await incident.settle();
    expect(incident.removals()).toEqual(['remove signs/s0']);
  });

  it('where another person has taken over a contract', async () => {
    const site = await open(openEither);
    site.market.replacePeople(site.contracts[0] ?? '', ['s9']);
    await readTwice(site);
    expect(site.incident.removals()).toEqual(['remove signs/s0']);
    expect(site.members()).toEqual(['s1', 's2', 's9', 'l0']);
  });

  it('where a grant is revoked, and all of them at once are for an operator to decide', async () => {
    const site = await open(openEither);
    const { incident } = site;
    incident.engine.clock.advance(minutes);
    site.market.revokeInstall(site.installId);
    await incident.event('install.revoked', { link: site.installId });
    for (let day = 0; day < 23; day += 1) {
      incident.engine.clock.advance(hours);
      await site.read();
    }
    expect(await incident.plans()).toEqual([]);
    await incident.pass(hours);
    expect(incident.removals()).toEqual([]);
    expect(await incident.plans()).toEqual([4]);
  });
});
