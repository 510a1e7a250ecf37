import { beforeEach, describe, expect, it } from 'vitest';
import { receiptsOf } from '../../support/converging.ts';
import { createIncident, type Incident, minutes } from '../../support/incident.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const signs = 'street-signs';
const seconds = 1000;

/** The next change of that kind is not answered, and done when the tool comes to it. */
function loseAnswer({ tool }: Incident, kind: 'add' | 'remove' | 'end'): void {
  tool.isLate = (call) => {
    if (call !== kind) return false;
    tool.isLate = () => false;
    return true;
  };
}

/** The first looks, as many as this, do not show the member. */
function miss({ tool }: Incident, looks: number): void {
  let left = looks;
  tool.isMissed = () => {
    left -= 1;
    return left >= 0;
  };
}

describeAnyDatabase('a tool', (openFresh) => {
  let incident: Incident;
  let lists: boolean;
  const members = () => incident.tool.members(signs);

  async function readAgain(): Promise<void> {
    await incident.pass(15 * minutes);
    await incident.checkDrift();
    await incident.settle();
  }

  async function open(isListing: boolean): Promise<void> {
    lists = isListing;
    incident = createIncident(await openFresh(), { tool: createMemoryTool('group', { lists }) });
  }

  it('whose list shows a trainer whom two looks had missed: the trainer is removed, though a third look misses them', async () => {
    await open(true);
    await incident.event('contract.started');
    miss(incident, 2);
    await incident.event('contract.ended');
    await incident.pass(minutes);
    expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'removed' });
    await incident.pass(15 * minutes);
    await incident.checkDrift();
    miss(incident, 1);
    await incident.settle();
    expect(members()).toEqual(['cmu1']);
    await incident.pass(minutes);
    expect(members()).toEqual([]);
  });

  describe.each([
    ['that lists', true],
    ['that does not list', false],
  ])('%s: a call whose outcome is unknown', (_, isListing) => {
    beforeEach(() => open(isListing));

    it('removes a trainer who was hired again meanwhile: the trainer is added again', async () => {
      await incident.event('contract.started');
      loseAnswer(incident, 'remove');
      await incident.event('contract.ended');
      await incident.event('contract.started', { contract: 'cmc2' });
      expect(members()).toEqual(['cmu1']);
      incident.tool.arrive();
      expect(members()).toEqual([]);
      await incident.pass(30 * seconds);
      expect(members()).toEqual(['cmu1']);
    });

    it('is looked at once more by the next reading, should it arrive even later', async () => {
      await incident.event('contract.started');
      loseAnswer(incident, 'remove');
      await incident.event('contract.ended');
      await incident.event('contract.started', { contract: 'cmc2' });
      await incident.pass(30 * seconds);
      incident.tool.arrive();
      await readAgain();
      expect(members()).toEqual(['cmu1']);
    });

    it('adds a trainer whose contract has ended: the trainer is removed again', async () => {
      loseAnswer(incident, 'add');
      await incident.event('contract.started');
      await incident.event('contract.ended');
      expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'removing' });
      incident.tool.arrive();
      expect(members()).toEqual(['cmu1']);
      await incident.pass(minutes);
      expect(members()).toEqual([]);
      expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'removed' });
    });

    it('adds a trainer who counted as removed: the next reading has them removed', async () => {
      loseAnswer(incident, 'add');
      await incident.event('contract.started');
      await incident.event('contract.ended');
      await incident.pass(minutes);
      expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'removed' });
      incident.tool.arrive();
      await readAgain();
      expect(members()).toEqual([]);
    });
  });

  describe.each([
    ['that lists', true],
    ['that does not list', false],
  ])('%s: a member who is not found when they are to be removed', (_, isListing) => {
    const finds = () => incident.tool.calls.filter((call) => call.startsWith('find')).length;

    beforeEach(async () => {
      await open(isListing);
      await incident.event('contract.started');
    });

    it('is removed by the second look', async () => {
      miss(incident, 1);
      await incident.event('contract.ended');
      expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'removing' });
      await incident.pass(59 * seconds);
      expect(members()).toEqual(['cmu1']);
      await incident.pass(seconds);
      expect(members()).toEqual([]);
      expect(await receiptsOf(incident.engine)).toEqual(['add added', 'remove removed']);
    });

    it('is removed after the next reading, if the second look misses them too', async () => {
      miss(incident, 2);
      await incident.event('contract.ended');
      await incident.pass(minutes);
      expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'removed' });
      await readAgain();
      expect(members()).toEqual([]);
      expect(await incident.alerts('managed_address_leaked')).toBe(0);
    });

    it('counts as removed if they are gone, after one more look', async () => {
      const before = finds();
      incident.tool.unseat(signs, 'cmu1');
      await incident.event('contract.ended');
      expect(await receiptsOf(incident.engine)).toEqual(['add added']);
      await incident.pass(minutes);
      expect(finds() - before).toBe(2);
      expect(await receiptsOf(incident.engine)).toEqual(['add added', 'remove already_absent']);
      expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'removed' });
      await readAgain();
      // Where the tool lists, the list says so.
      expect(finds() - before).toBe(lists ? 2 : 3);
      expect(await incident.engine.membershipRows()).toMatchObject([
        { state: 'removed', isOurs: false, lateUntil: null, missedAt: null, nextAttemptAt: null },
      ]);
      // From now on, a trainer who is added by hand is not ours.
      incident.tool.seed(signs, 'cmu1');
      await incident.pass(15 * minutes);
      await incident.checkDrift();
      await incident.pass(15 * minutes);
      expect(members()).toEqual(['cmu1']);
    });

    it('is not looked for again after a removal that was answered and read back', async () => {
      const before = finds();
      await incident.event('contract.ended');
      await incident.pass(15 * minutes);
      await incident.checkDrift();
      await incident.pass(15 * minutes);
      expect(finds() - before).toBe(2);
    });

    it('stays in if they are hired again before the second look', async () => {
      miss(incident, 1);
      await incident.event('contract.ended');
      await incident.event('contract.started', { contract: 'cmc2' });
      await incident.pass(minutes);
      expect(incident.removals()).toEqual([]);
      expect(await incident.engine.membershipRows()).toMatchObject([{ state: 'active', isOurs: true }]);
      await incident.event('contract.ended', { contract: 'cmc2' });
      expect(members()).toEqual([]);
    });
  });
});

describeAnyDatabase('a tool whose reads lag behind', (openFresh) => {
  it('removes a trainer who was added and is not listed yet', async () => {
    const incident = createIncident(await openFresh());
    incident.tool.lag();
    await incident.event('contract.started');
    await incident.event('contract.ended');
    incident.tool.catchUp();
    expect(incident.tool.members(signs)).toEqual(['cmu1']);
    await incident.pass(minutes);
    expect(incident.tool.members(signs)).toEqual([]);
  });
});

describeAnyDatabase('a login that is ended late', (openFresh) => {
  const lamps = { contract: 'cmc2', link: 'cml2', project: 'lamps' };

  it('is repeated if the person was hired for another group meanwhile', async () => {
    const tool = createMemoryTool('membership', { hasAccounts: true });
    const incident = createIncident(await openFresh(), { tool });
    await incident.event('contract.started');
    loseAnswer(incident, 'end');
    await incident.event('contract.ended');
    await incident.event('contract.started', lamps);
    expect(tool.members('lamps')).toEqual(['cmu1']);
    tool.arrive();
    expect(tool.members('lamps')).toEqual([]);
    await incident.pass(minutes);
    await incident.pass(minutes);
    expect([tool.members(signs), tool.members('lamps')]).toEqual([[], ['cmu1']]);
    await incident.event('contract.ended', lamps);
    expect(tool.accounts()).toEqual([]);
  });
});

describeAnyDatabase('what is to be confirmed', (openFresh) => {
  it('is not held by the brake together with what goes beyond it', async () => {
    const [one, two] = [1, 2].map((n) => ({ contract: `c${n}`, trainer: `t${n}` }));
    const incident = createIncident(await openFresh(), { limits: { max: 1, maxFraction: 1 } });
    await incident.event('contract.started', one);
    await incident.event('contract.started', two);
    incident.tool.unseat(signs, 't1');
    await incident.event('contract.ended', one);
    expect(await incident.states()).toMatchObject({ [`${signs}/t1`]: 'removing' });
    await incident.event('contract.ended', two);
    expect(await incident.plans()).toEqual([1]);
    await incident.pass(minutes);
    expect(await incident.states()).toEqual({ [`${signs}/t1`]: 'removed', [`${signs}/t2`]: 'held' });
  });
});
