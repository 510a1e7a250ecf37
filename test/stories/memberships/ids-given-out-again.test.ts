import { beforeEach, describe, expect, it } from 'vitest';
import type { Member } from '../../../src/adapters/adapter.ts';
import { adoptDoubted, releaseDoubted } from '../../../src/memberships/ownership-store.ts';
import { receiptsOf } from '../../support/converging.ts';
import type { OpenFresh } from '../../support/databases.ts';
import { createIncident, hours, type Incident, minutes } from '../../support/incident.ts';
import { createMemoryTool, type MemoryTool, type MemoryToolOptions } from '../../support/memory-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

/**
 * A tool that was restored from an older backup gives ids out again: what was a trainer's is by then
 * an employee's, who is not known here, or another trainer's.
 */

const signs = 'street-signs';
const amara = 'amara@opentrain.work';
const employee = 'erin@lab.example';

function open(openFresh: OpenFresh, options: MemoryToolOptions = {}) {
  const tool = createMemoryTool('membership', {
    ...({ keyedBy: 'number', hasAccounts: true, lists: true } as const),
    ...options,
  });
  return openFresh().then((database) => ({ tool, incident: createIncident(database, { tool }) }));
}

/** The account of the trainer is gone, and the next one that was made is another's. */
function restore(tool: MemoryTool, id: string, email: string, madeAt?: string): void {
  tool.forgetAccounts(id);
  tool.seed(signs, id, email, madeAt);
}

/** No look finds this account, and lists still show it. @returns ends that */
function leaveOut(tool: MemoryTool, account: string): () => void {
  const { adapter } = tool;
  const unlessLeftOut = (found: Member | null) => (found?.id === account ? null : found);
  tool.adapter = {
    ...adapter,
    findMember: async (group, person, signal) =>
      unlessLeftOut(await adapter.findMember(group, person, signal)) ??
      unlessLeftOut(await adapter.findMember(group, { ...person, memberId: null }, signal)),
    findAccountById: async (id, signal) => unlessLeftOut((await adapter.findAccountById?.(id, signal)) ?? null),
  };
  return () => {
    tool.adapter = adapter;
  };
}

async function check(incident: Incident): Promise<void> {
  await incident.pass(2 * minutes);
  await incident.checkDrift();
  await incident.settle();
}

describeAnyDatabase('an id that a restored tool gave to an employee', (openFresh) => {
  let incident: Incident;
  let tool: MemoryTool;

  const start = () => incident.event('contract.started', { workEmail: amara });
  const end = () => incident.event('contract.ended', {});
  const state = async () => (await incident.states())[`${signs}/cmu1`];
  const row = async () => (await incident.engine.membershipRows())[0];
  const by = () => ({ actor: 'ops', at: incident.engine.clock.now().toISOString() });
  const changes = () => tool.calls.filter((call) => /^(remove|end|update) /.test(call));

  beforeEach(async () => {
    ({ incident, tool } = await open(openFresh));
    await start();
    expect(await row()).toMatchObject({ memberId: '1', isOurs: true });
  });

  it('is not taken for the trainer: they are added again, and the employee stays', async () => {
    restore(tool, '1', employee);
    await check(incident);
    expect(tool.members(signs)).toEqual(['1', '2']);
    expect(await row()).toMatchObject({ state: 'active', memberId: '2', doubtedId: '1' });
    expect(await incident.alerts('id_of_another')).toBe(1);
    await end();
    expect(changes()).toEqual([`end ${signs}/2`]);
    expect([tool.members(signs), tool.accounts()]).toEqual([['1'], ['1']]);
    const failure = expect.stringContaining('gangway members release 1 --doubted') as string;
    expect(await row()).toMatchObject({ state: 'failed', attempts: 1, failure });
  });

  it('is neither removed nor settled as removed if the contract ends at once', async () => {
    restore(tool, '1', employee);
    await end();
    await incident.pass(5 * hours);
    expect([changes(), await state()]).toEqual([[], 'failed']);
    expect(await incident.alerts('id_of_another')).toBe(1);
    expect((await row())?.failure).toContain('gangway members release 1');
  });

  it('is released by an operator, and nobody is removed', async () => {
    restore(tool, '1', employee);
    await end();
    expect(await releaseDoubted(incident.engine, 1, by())).toBe('let_go');
    await incident.pass(2 * hours);
    await incident.pass(minutes);
    expect([changes(), await state()]).toEqual([[], 'removed']);
    expect(tool.members(signs)).toEqual(['1']);
  });

  it("is removed if an operator says that the address is the trainer's", async () => {
    restore(tool, '1', 'amara.private@home.example');
    await end();
    await adoptDoubted(incident.engine, 1, 'Amara.Private@home.example', by());
    await incident.pass(2 * hours);
    await incident.pass(minutes);
    expect([changes(), await state()]).toEqual([[`end ${signs}/1`], 'removed']);
    expect(tool.members(signs)).toEqual([]);
  });

  it("is no longer in doubt once it shows the trainer's address again, and is removed", async () => {
    restore(tool, '1', employee);
    await check(incident);
    tool.seed(signs, '1', amara);
    await end();
    expect(tool.members(signs)).toEqual([]);
    expect(await state()).toBe('removed');
  });

  it('stays in doubt if a list shows it and the next look misses it', async () => {
    restore(tool, '1', 'amara.private@home.example');
    const isBack = leaveOut(tool, '1');
    await check(incident);
    isBack();
    expect(await row()).toMatchObject({ state: 'active', memberId: '2', doubtedId: '1' });
    expect(await incident.alerts('id_of_another')).toBe(1);
    await end();
    expect([changes(), await state()]).toEqual([[`end ${signs}/2`], 'failed']);
    await adoptDoubted(incident.engine, 1, 'amara.private@home.example', by());
    await incident.pass(minutes);
    await incident.pass(2 * minutes);
    expect([tool.members(signs), await state()]).toEqual([[], 'removed']);
  });

  it("is no longer in doubt if a list shows it under another address and the look under the trainer's", async () => {
    restore(tool, '1', 'amara.private@home.example');
    const { adapter } = tool;
    tool.adapter = {
      ...adapter,
      findMember: async (group, person, signal) => {
        const found = await adapter.findMember(group, person, signal);
        return found && { ...found, email: amara };
      },
    };
    await check(incident);
    expect(await row()).toMatchObject({ state: 'active', memberId: '1', doubtedId: null });
    expect(await incident.alerts('id_of_another')).toBe(0);
  });

  it('stays in doubt if one look misses it after the contract', async () => {
    restore(tool, '1', 'amara.private@home.example');
    await check(incident);
    const isBack = leaveOut(tool, '1');
    await end();
    isBack();
    expect([changes(), await state()]).toEqual([[`end ${signs}/2`], 'removing']);
    await incident.pass(2 * minutes);
    expect(await row()).toMatchObject({ state: 'failed', doubtedId: '1' });
  });

  it('is no longer in doubt once no account has it', async () => {
    restore(tool, '1', employee);
    await end();
    tool.forgetAccounts('1');
    await incident.pass(2 * hours);
    await incident.pass(minutes);
    expect([changes(), await state()]).toEqual([[], 'removed']);
  });

  it('leaves the employee when they are hired themselves, and their account when that ends', async () => {
    restore(tool, '1', employee);
    const hired = { contract: 'c2', trainer: 'cmu2' };
    await incident.event('contract.started', { ...hired, workEmail: employee });
    await incident.event('contract.ended', hired);
    expect(tool.members(signs)).toEqual(['1', '2']);
    await end();
    expect(changes()).toEqual([`end ${signs}/2`]);
    expect([tool.members(signs), tool.accounts()]).toEqual([['1'], ['1']]);
  });

  it('is believed if the address is a former one of the trainer', async () => {
    await incident.event('contract.started', { workEmail: 'amara.new@opentrain.work' });
    await check(incident);
    expect(await row()).toMatchObject({ memberId: '1', doubtedId: null });
    await end();
    expect(tool.members(signs)).toEqual([]);
    expect(await incident.alerts('id_of_another')).toBe(0);
  });
});

describeAnyDatabase('an id of a tool that says when accounts were made', (openFresh) => {
  let incident: Incident;
  let tool: MemoryTool;
  const made = { madeAt: '2026-01-01T10:00:00.000Z' };

  beforeEach(async () => {
    ({ incident, tool } = await open(openFresh, made));
    await incident.event('contract.started', { workEmail: amara });
  });

  const states = () => incident.states();

  it('is another account if that was made later: nothing waits for an operator', async () => {
    restore(tool, '1', employee, '2026-03-15T13:00:00.000Z');
    await incident.event('contract.ended', {});
    await incident.pass(minutes);
    expect(await states()).toEqual({ [`${signs}/cmu1`]: 'removed' });
    expect(tool.members(signs)).toEqual(['1']);
    expect(incident.removals()).toEqual([]);
    expect(await incident.alerts('id_of_another')).toBe(1);
  });

  it('is in doubt if it is the same account under another address', async () => {
    tool.seed(signs, '1', 'amara.private@home.example', made.madeAt);
    await incident.event('contract.ended', {});
    expect(await states()).toEqual({ [`${signs}/cmu1`]: 'failed' });
    expect(incident.removals()).toEqual([]);
  });
});

describeAnyDatabase('ids that a restored tool gave to other trainers', (openFresh) => {
  const two = { contract: 'c2', trainer: 'cmu2', workEmail: 'bola@opentrain.work' };
  let incident: Incident;
  let tool: MemoryTool;

  beforeEach(async () => {
    ({ incident, tool } = await open(openFresh));
    await incident.event('contract.started', { workEmail: amara });
    await incident.event('contract.started', two);
    tool.forgetAccounts('1', '2');
    tool.seed(signs, '1', two.workEmail);
    tool.seed(signs, '2', amara);
  });

  it('are kept apart by the address, in whatever order they end', async () => {
    await incident.event('contract.ended', {});
    expect(tool.members(signs)).toEqual(['1']);
    await incident.event('contract.ended', two);
    expect(tool.members(signs)).toEqual([]);
  });

  it('are learnt anew by a comparison', async () => {
    await check(incident);
    const rows = await incident.engine.membershipRows();
    expect(rows.map(({ memberId }) => memberId)).toEqual(['2', '1']);
    expect(await receiptsOf(incident.engine)).not.toContain('remove removed');
    expect(tool.members(signs)).toEqual(['1', '2']);
  });
});

describeAnyDatabase('an id of a tool that shows no addresses', (openFresh) => {
  const two = { contract: 'c2', trainer: 'cmu2', workEmail: 'bola@opentrain.work' };
  const state = async ({ engine }: Incident, trainer: string) =>
    (await engine.membershipRows()).find(({ trainerId }) => trainerId === trainer);

  it('is never accepted for another trainer than the one it is known as', async () => {
    const { incident, tool } = await open(openFresh);
    await incident.event('contract.started', { workEmail: amara });
    const { adapter } = tool;
    tool.adapter = {
      ...adapter,
      findMember: async (group, person, signal) => {
        const found = await adapter.findMember(group, person, signal);
        return found && { ...found, email: null };
      },
      addMember: async () => ({ id: '1', email: null }),
    };
    await incident.event('contract.started', two);
    await incident.pass(2 * hours);
    expect(await state(incident, 'cmu2')).toMatchObject({ state: 'failed', memberId: null });
    expect(await state(incident, 'cmu1')).toMatchObject({ state: 'active', memberId: '1' });
    expect(await incident.alerts('id_of_another')).toBe(1);
  });

  it("no longer belongs to its former trainer once it shows another trainer's address", async () => {
    const { incident, tool } = await open(openFresh);
    await incident.event('contract.started', { workEmail: amara });
    restore(tool, '1', two.workEmail);
    await incident.event('contract.started', two);
    expect(await state(incident, 'cmu2')).toMatchObject({ state: 'active', memberId: '1' });
    expect(await state(incident, 'cmu1')).toMatchObject({ state: 'active', memberId: '2' });
  });
});

describeAnyDatabase('an address that is to be followed', (openFresh) => {
  it('is not given to an account that has the id of another person by now', async () => {
    const { incident, tool } = await open(openFresh, { updates: true });
    await incident.event('contract.started', { workEmail: amara });
    restore(tool, '1', employee);
    await incident.event('contract.started', { workEmail: 'amara.new@opentrain.work' });
    await check(incident);
    expect(tool.calls.filter((call) => call.startsWith('update '))).toEqual([]);
    expect(tool.accounts()).toEqual(['1', '2']);
  });
});

describeAnyDatabase('an account of ours that no look at the group shows', (openFresh) => {
  let incident: Incident;
  let tool: MemoryTool;

  beforeEach(async () => {
    ({ incident, tool } = await open(openFresh));
    await incident.event('contract.started', { workEmail: amara });
  });

  it('is not added again if a list and one look miss it', async () => {
    tool.unseat(signs, '1');
    await incident.pass(2 * minutes);
    await incident.checkDrift();
    tool.seed(signs, '1', amara);
    const { adapter } = tool;
    let looks = 0;
    tool.adapter = {
      ...adapter,
      findMember: async (group, person, signal) => {
        looks += 1;
        return looks === 1 ? null : await adapter.findMember(group, person, signal);
      },
    };
    await incident.settle();
    expect(looks).toBe(2);
    expect(tool.calls.filter((call) => call.startsWith('add '))).toHaveLength(1);
  });

  describe('and that is masked wherever it is shown', () => {
    const made = { madeAt: '2026-01-01T10:00:00.000Z' };
    let hiddenAs: Partial<Member>;

    /** As Label Studio does it to whose membership was ended by hand. */
    beforeEach(async () => {
      ({ incident, tool } = await open(openFresh, made));
      await incident.event('contract.started', { workEmail: amara });
      tool.unseat(signs, '1');
      tool.adapter = {
        ...tool.adapter,
        findAccount: async () => null,
        findAccountById: async (id) => (tool.accounts().includes(id) ? { id, email: null, ...hiddenAs } : null),
      };
    });

    it('is ended if it was made at the same time', async () => {
      hiddenAs = made;
      await incident.event('contract.ended', {});
      expect(incident.removals()).toEqual([`end ${signs}/1`]);
      expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'removed' });
    });

    it('is left alone if it was made later', async () => {
      hiddenAs = { madeAt: '2026-03-15T13:00:00.000Z' };
      await incident.event('contract.ended', {});
      await incident.pass(minutes);
      expect(incident.removals()).toEqual([]);
      expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'removed' });
    });

    it('is held for an operator if nothing tells whose it is', async () => {
      hiddenAs = {};
      await incident.event('contract.ended', {});
      await incident.pass(2 * hours);
      expect(incident.removals()).toEqual([]);
      expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'failed' });
      expect(await incident.alerts('id_of_another')).toBe(1);
      expect(
        await releaseDoubted(incident.engine, 1, {
          actor: 'ops',
          at: incident.engine.clock.now().toISOString(),
        }),
      ).toBe('let_go');
      await incident.settle();
      await incident.pass(minutes);
      expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'removed' });
    });
  });

  describe('and that another hand took out of it', () => {
    it('is ended with the contract', async () => {
      tool.unseat(signs, '1');
      await incident.event('contract.ended', {});
      expect(incident.removals()).toEqual([`end ${signs}/1`]);
      expect(tool.accounts()).toEqual([]);
      expect(await receiptsOf(incident.engine)).toContain('remove removed');
    });

    it('stays if it was there before us', async () => {
      tool.seedAccount('7', 'bola@opentrain.work');
      const two = { contract: 'c2', trainer: 'cmu2', workEmail: 'bola@opentrain.work' };
      await incident.event('contract.started', two);
      tool.unseat(signs, '7');
      await incident.event('contract.ended', two);
      expect(incident.removals()).toEqual([]);
      expect(tool.accounts()).toContain('7');
    });
  });
});
