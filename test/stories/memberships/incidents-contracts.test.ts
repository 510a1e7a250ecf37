import { beforeEach, expect, it } from 'vitest';
import { toInstant } from '../../../src/lib/clock.ts';
import { decidePlanItems, listPlanItems } from '../../../src/removals/plan-store.ts';
import { describeEachDatabase, type OpenFresh } from '../../support/databases.ts';
import { createIncident, hours, type Incident, type Listing, minutes, toApi } from '../../support/incident.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';

const signs = 'street-signs';
/** So many others of the install that the brake has nothing to say about one or two. */
const others = Array.from({ length: 10 }, (_, index) => `other${index}`);
const listed = (...people: string[]): Listing => ({
  links: { cml1: signs, cml9: 'lamps' },
  active: {
    ...Object.fromEntries(others.map((id) => [id, { links: ['cml9'], people: [id] }])),
    cmc1: { links: ['cml1'], people },
  },
});

async function addOthers(incident: Incident): Promise<void> {
  const wishes = others.map((id) => ({
    contract: id,
    trainer: id,
    link: 'cml9',
    project: 'lamps',
  }));
  await incident.takeAll('contract.started', wishes);
  await incident.settle();
}

describeEachDatabase('a person who is replaced on a contract', (openFresh) => {
  let incident: Incident;

  beforeEach(async () => {
    incident = createIncident(await openFresh());
    await addOthers(incident);
    await incident.event('contract.started');
    await incident.read(listed('cmu1'));
  });

  const members = () => incident.tool.members(signs);

  it('is removed after two reads without them and the grace period', async () => {
    await incident.pass(7 * hours);
    await incident.read(listed('cmu2'));
    expect(members()).toEqual(['cmu1', 'cmu2']);
    await incident.pass(7 * hours);
    await incident.read(listed('cmu2'));
    await incident.pass(15 * minutes - 1);
    expect(members()).toEqual(['cmu1', 'cmu2']);
    await incident.pass(1);
    expect(members()).toEqual(['cmu2']);
    expect(incident.removals()).toEqual([`remove ${signs}/cmu1`]);
  });

  it('is removed too if the second read follows soon after the first', async () => {
    await incident.pass(7 * hours);
    await incident.read(listed('cmu2'));
    await incident.pass(15 * minutes);
    await incident.read(listed('cmu2'));
    await incident.pass(15 * minutes);
    expect(members()).toEqual(['cmu2']);
  });

  it('stays after one read without them', async () => {
    await incident.pass(7 * hours);
    await incident.read(listed('cmu2'));
    await incident.pass(72 * hours);
    expect(members()).toEqual(['cmu1', 'cmu2']);
  });

  it('stays if seen again between two reads without them', async () => {
    for (const people of [['cmu2'], ['cmu1', 'cmu2'], ['cmu2']]) {
      await incident.pass(7 * hours);
      await incident.read(listed(...people));
    }
    await incident.pass(72 * hours);
    expect(members()).toEqual(['cmu1', 'cmu2']);
  });

  it('stays after reads with no trainer at all', async () => {
    for (let read = 0; read < 3; read += 1) {
      await incident.pass(7 * hours);
      await incident.read(listed());
    }
    await incident.pass(72 * hours);
    expect(members()).toEqual(['cmu1']);
  });
});

describeEachDatabase('a list of contracts that is cut off without a sign', (openFresh) => {
  const ten = Array.from({ length: 10 }, (_, index) => `cmc${index}`);
  const on = (ids: string[]) => Object.fromEntries(ids.map((id) => [id, { links: ['cml1'], people: [`on-${id}`] }]));
  const links = { cml1: signs };
  const members = () => incident.tool.members(signs);
  let incident: Incident;

  beforeEach(async () => {
    incident = createIncident(await openFresh());
    await incident.read({ links, active: on(ten) });
    expect(members()).toHaveLength(10);
  });

  it('removes no trainer, however long it lasts, and is reported after a day', async () => {
    // Who is on them is still answered.
    const cutOff = { links, active: on(ten.slice(2)), unlisted: on(ten.slice(0, 2)) };
    for (let read = 0; read < 4; read += 1) {
      await incident.pass(15 * minutes);
      await incident.read(cutOff);
    }
    expect(await incident.alerts('contract_suspect')).toBe(0);
    await incident.pass(24 * hours);
    await incident.read(cutOff);
    await incident.pass(30 * 24 * hours);
    expect(members()).toHaveLength(10);
    expect(incident.removals()).toEqual([]);
    expect(await incident.plans()).toEqual([]);
    // One for both contracts, and a reminder is none.
    expect(await incident.alerts('contract_suspect')).toBe(1);
  });

  it('costs one request per page of ended contracts', async () => {
    const asked: string[] = [];
    const pages = 7;
    const cutOff = toApi({ links, active: on(ten.slice(2)) });
    const api: typeof cutOff = {
      ...cutOff,
      // Page after page, as long as more is wanted.
      async listContracts({ status, wantsMore = () => true, ...filter }, signal) {
        if (status === 'active') return await cutOff.listContracts({ status, ...filter }, signal);
        let page = 0;
        do {
          page += 1;
          asked.push(`ended ${page}`);
        } while (page < pages && (await wantsMore([])));
        return { contracts: [], isComplete: page === pages };
      },
    };
    await incident.pass(15 * minutes);
    await incident.readFrom(api);
    expect(asked).toHaveLength(pages);
    asked.length = 0;
    const whole = toApi({ links, active: on(ten) });
    await incident.readFrom({
      ...api,
      listParticipants: whole.listParticipants,
      async listContracts(of, signal) {
        return await (of.status === 'active' ? whole : api).listContracts(of, signal);
      },
    });
    expect(asked).toEqual(['ended 1']);
  });

  it('hides no end that the list of ended contracts has', async () => {
    await incident.pass(15 * minutes);
    const active = on(ten.slice(2));
    await incident.read({ links, active, ended: on(['cmc0']) });
    expect(members()).toEqual(ten.slice(1).map((id) => `on-${id}`));
    expect(incident.removals()).toEqual([`remove ${signs}/on-cmc0`]);
  });

  it('hides no end that the list of active contracts has', async () => {
    await incident.pass(15 * minutes);
    await incident.read({ links, active: { ...on(ten.slice(1)) }, strays: on(['cmc0']) });
    expect(members()).toHaveLength(9);
  });
});

describeEachDatabase('a contract that is listed under another job', (openFresh) => {
  let incident: Incident;
  const links = { cml1: signs, cml9: 'lamps', cml5: 'trams' };
  const read = (linkIds: string[], jobs?: Listing['jobs']) =>
    incident.read({
      ...listed('cmu1'),
      links,
      ...(jobs && { jobs }),
      active: { ...listed().active, cmc1: { links: linkIds, people: ['cmu1'] } },
    });
  const where = () => [signs, 'trams'].filter((project) => incident.tool.members(project).length);

  beforeEach(async () => {
    incident = createIncident(await openFresh());
    await addOthers(incident);
    await incident.event('contract.started');
    await read(['cml1']);
  });

  it('leaves the former project after two readings and the grace period', async () => {
    for (const wait of [hours, 10 * minutes]) {
      await incident.pass(wait);
      await read(['cml5']);
    }
    await incident.pass(15 * minutes - 1);
    expect(where()).toEqual([signs, 'trams']);
    await incident.pass(1);
    expect(where()).toEqual(['trams']);
    expect(await incident.engine.rows('removal')).toMatchObject([{ cause: 'contract_moved' }]);
    await incident.pass(hours);
    await read(['cml1']);
    expect(where()).toEqual([signs, 'trams']);
  });

  it.each([
    ['after one such reading', [['cml5']]],
    ['after two within ten minutes', [['cml5'], ['cml5'], ['cml1', 'cml5']]],
    ['where it was listed there in between', [['cml5'], ['cml1'], ['cml5']]],
    ['where no links are named at all', [[], [], []]],
  ])('stays %s', async (name, readings) => {
    for (const linkIds of readings) {
      await incident.pass(name.includes('within') ? minutes : 11 * minutes);
      await read(linkIds);
    }
    await incident.pass(72 * hours);
    expect(where()).toContain(signs);
    expect(incident.removals()).toEqual([]);
  });

  it('stays if the link belongs to its job after all', async () => {
    const jobs = { cmc1: 'job1', cml1: 'job1', cml5: 'job1', cml9: 'job9' };
    for (let reading = 0; reading < 3; reading += 1) {
      await incident.pass(15 * minutes);
      await read(['cml5'], jobs);
    }
    await incident.pass(72 * hours);
    expect(where()).toEqual([signs, 'trams']);
  });

  it('is one of those whose removal the brake may hold', async () => {
    const moved = Object.fromEntries(others.map((id) => [id, { links: ['cml5'], people: [id] }]));
    for (const wait of [hours, 15 * minutes, 15 * minutes]) {
      await incident.pass(wait);
      await incident.read({ links, active: moved });
    }
    expect(await incident.plans()).toEqual([10]);
    expect(incident.tool.members('lamps')).toHaveLength(10);
  });
});

describeEachDatabase('a delivered end that is wrong', (openFresh) => {
  const members = (incident: Incident) => incident.tool.members(signs);

  it('removes people, and adds them again with an alert when a later read shows it active', async () => {
    const incident = createIncident(await openFresh());
    await incident.event('contract.started');
    await incident.event('contract.ended');
    expect(members(incident)).toEqual([]);

    await incident.pass(10 * minutes - 1);
    await incident.read(listed('cmu1'));
    expect(members(incident)).toEqual([]);
    expect(await incident.alerts('contract_disputed')).toBe(0);

    await incident.pass(1);
    await incident.read(listed('cmu1'));
    expect(members(incident)).toEqual(['cmu1']);
    expect(await incident.alerts('contract_disputed')).toBe(1);
    expect(await incident.engine.metrics.registry.metrics()).toContain(
      'gangway_alerts_total{kind="contract_disputed"} 1',
    );
    await incident.pass(hours);
    await incident.read(listed('cmu1'));
    expect(await incident.alerts('contract_disputed')).toBe(1);
  });

  it('counts after all when a read says so too', async () => {
    const incident = createIncident(await openFresh());
    await incident.event('contract.started');
    await incident.event('contract.ended');
    await incident.pass(hours);
    await incident.read(listed('cmu1'));
    await incident.pass(hours);
    const ended = { cmc1: { links: ['cml1'], people: ['cmu1'] } };
    await incident.read({ links: { cml1: signs }, ended });
    expect(members(incident)).toEqual([]);
  });
});

describeEachDatabase('two hundred mistaken ends in twenty seconds', (openFresh) => {
  const everyone = Array.from({ length: 200 }, (_, index) => index);

  it('cost few people, are held as few plans, and are undone by the next read', async () => {
    const incident = createIncident(await openFresh());
    await incident.takeAll('contract.started', everyone.map(wishOf));
    await incident.settle();
    expect(incident.tool.members(signs)).toHaveLength(200);

    for (let second = 0; second < 20; second += 1) {
      const some = everyone.filter((index) => index % 20 === second);
      await incident.takeAll('contract.ended', some.map(wishOf));
      await incident.pass(1000);
    }
    await incident.pass(hours);
    expect(incident.tool.members(signs).length).toBeGreaterThanOrEqual(175);
    const plans = await incident.plans();
    expect(plans.length).toBeLessThanOrEqual(10);
    const left = 200 - incident.tool.members(signs).length;
    expect(plans.reduce((sum, size) => sum + size, 0)).toBe(200 - left);
    expect(await incident.alerts('removals_held')).toBe(plans.length);

    const active = Object.fromEntries(
      everyone.map((index) => [`cmc${index}`, { links: ['cml1'], people: [`cmu${index}`] }]),
    );
    await incident.read({ links: { cml1: signs }, active });
    expect(incident.tool.members(signs)).toHaveLength(200);
    const items = await listPlanItems(incident.engine, 1);
    expect(items.every(({ isStale }) => isStale)).toBe(true);
  });

  const wishOf = (index: number) => ({ contract: `cmc${index}`, trainer: `cmu${index}` });
});

describeEachDatabase('a tool that cannot take people back', (openFresh) => {
  const openFinal = async (openDatabase: OpenFresh) => {
    const tool = createMemoryTool('membership', { readding: 'no' });
    const incident = createIncident(await openDatabase(), { tool });
    await addOthers(incident);
    await incident.event('contract.started');
    return incident;
  };

  it('removes only with approval after weaker evidence', async () => {
    const incident = await openFinal(openFresh);
    await incident.event('project_link.removed');
    await incident.pass(15 * minutes);
    expect(await incident.plans()).toEqual([1]);
    await incident.pass(72 * hours);
    expect(incident.tool.members(signs)).toEqual(['cmu1']);
    const { engine } = incident;
    await decidePlanItems(engine, engine.database.kysely, 1, 'approved', toInstant(engine.clock.now()));
    await incident.settle();
    expect(incident.tool.members(signs)).toEqual([]);
  });

  it('removes at once after an explicit end', async () => {
    const incident = await openFinal(openFresh);
    await incident.event('contract.ended');
    expect(incident.tool.members(signs)).toEqual([]);
  });
});

describeEachDatabase('an old start that comes again after everything is forgotten', (openFresh) => {
  it('gives no trainer access until a read says that the contract goes on', async () => {
    const incident = createIncident(await openFresh());
    const { engine } = incident;
    await incident.pass(40 * 24 * hours);
    const createdAt = toInstant(new Date(engine.clock.now().getTime() - 31 * 24 * hours));
    await incident.event('contract.started', { createdAt });
    await incident.pass(hours);
    expect(await engine.membershipRows()).toEqual([]);
    expect(incident.tool.calls).toEqual([]);

    await incident.read(listed('cmu1'));
    expect(incident.tool.members(signs)).toEqual(['cmu1']);
  });
});
