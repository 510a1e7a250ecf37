import { beforeEach, describe, expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { holdInstalls } from '../../../src/reconcile/read/install-state-store.ts';
import { claimDue, convergeDue, receiptsOf } from '../../support/converging.ts';
import { createIncident, hours, type Incident, minutes } from '../../support/incident.ts';
import { createMemoryTool, type MemoryTool } from '../../support/memory-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const group = 'street-signs';

describeAnyDatabase('drift', (openFresh) => {
  let tool: MemoryTool;
  let incident: Incident;

  beforeEach(async () => {
    tool = createMemoryTool('membership', { lists: true });
    incident = createIncident(await openFresh(), {
      tool,
      managedDomains: ['opentrain.work'],
      converging: { protectedAccounts: ['boss@lab.example', 'cmu9'] },
    });
  });

  /** Has people hired, each by a contract of their own, and lets a minute pass. */
  async function hire(...trainers: string[]): Promise<void> {
    await incident.takeAll(
      'contract.started',
      trainers.map((trainer) => ({ trainer, contract: `of-${trainer}` })),
    );
    await incident.settle();
    await incident.pass(minutes);
  }

  async function end(trainer: string): Promise<void> {
    await incident.event('contract.ended', { trainer, contract: `of-${trainer}` });
    await incident.pass(minutes);
  }

  /** Lists, judges, and does what follows at once. */
  async function check(): Promise<void> {
    await incident.pass(2 * minutes);
    await incident.checkDrift();
    await incident.settle();
  }

  const state = async (trainer: string) => (await incident.states())[`${group}/${trainer}`];
  const found = async (kind: string) => {
    const { values } = await incident.engine.metrics.drift.get();
    return values.find(({ labels }) => labels.kind === kind)?.value ?? 0;
  };
  const adds = () => tool.calls.filter((call) => call.startsWith('add '));

  it('leaves members alone who are as they should be', async () => {
    await hire('cmu1', 'cmu2');
    const before = tool.calls.length;
    await check();
    expect(tool.calls.slice(before)).toEqual([`list ${group}`]);
    expect(await found('missing')).toBe(0);
  });

  it('adds back a missing member', async () => {
    await hire('cmu1', 'cmu2');
    tool.unseat(group, 'cmu1');
    await check();
    expect(tool.members(group)).toEqual(['cmu1', 'cmu2']);
    expect(await state('cmu1')).toBe('active');
    expect(await incident.alerts('member_keeps_vanishing')).toBe(0);
  });

  it('looks for a member who is missing from the list before it adds them back', async () => {
    await hire('cmu1');
    const { adapter } = tool;
    adapter.listMembers = async function* () {};
    await check();
    expect(adds()).toHaveLength(1);
    expect(tool.calls.at(-1)).toBe(`find ${group}/cmu1`);
    expect(await receiptsOf(incident.engine)).toEqual(['add added']);
  });

  it('adds back a member removed by hand at once, and later once an hour with a report', async () => {
    await hire('cmu1');
    tool.unseat(group, 'cmu1');
    await check();
    expect(adds()).toHaveLength(2);
    expect(await incident.alerts('member_keeps_vanishing')).toBe(0);

    tool.unseat(group, 'cmu1');
    await check();
    await check();
    expect(adds()).toHaveLength(2);
    expect(await incident.alerts('member_keeps_vanishing')).toBe(1);

    await incident.pass(hours);
    await check();
    expect(adds()).toHaveLength(3);
    tool.unseat(group, 'cmu1');
    await check();
    expect(adds()).toHaveLength(3);
    expect(await incident.alerts('member_keeps_vanishing')).toBe(2);
  });

  it('forgets after a day that a member was added back', async () => {
    await hire('cmu1');
    tool.unseat(group, 'cmu1');
    await check();
    await incident.pass(25 * hours);
    tool.unseat(group, 'cmu1');
    await check();
    expect(adds()).toHaveLength(3);
    expect(await incident.alerts('member_keeps_vanishing')).toBe(0);
  });

  it('counts strangers and keeps them', async () => {
    await hire('cmu1');
    tool.seed(group, 'annotator-7', 'someone@lab.example');
    tool.seed(group, 'annotator-8');
    await check();
    expect(await found('stranger')).toBe(2);
    expect(tool.members(group)).toEqual(['annotator-7', 'annotator-8', 'cmu1']);
    expect(incident.removals()).toEqual([]);
  });

  it('flags a managed email without an active contract once, and keeps it', async () => {
    await hire('cmu1');
    tool.seed(group, 'x1', 'Stray@OpenTrain.work');
    await check();
    await check();
    await incident.pass(48 * hours);
    expect(await found('leak')).toBe(1);
    expect(await incident.alerts('managed_address_leaked')).toBe(1);
    expect(incident.removals()).toEqual([]);
    tool.seed(group, 'x2', 'other@opentrain.work');
    await check();
    expect(await incident.alerts('managed_address_leaked')).toBe(2);
  });

  it('ignores protected accounts', async () => {
    await hire('cmu1');
    tool.seed(group, 'b1', 'BOSS@lab.example');
    tool.seed(group, 'cmu9', 'nine@opentrain.work');
    await check();
    expect([await found('stranger'), await found('leak')]).toEqual([0, 0]);
  });

  it('removes somebody again after the grace period whom Gangway had removed and who is found without a reason', async () => {
    await hire('cmu1', 'cmu2', 'cmu3', 'cmu4');
    await end('cmu1');
    tool.seed(group, 'cmu1', 'CMU1@opentrain.work');
    await check();
    expect(tool.members(group)).toContain('cmu1');
    expect(await state('cmu1')).toBe('removing');
    expect(await incident.alerts('removed_member_returned')).toBe(1);
    await incident.pass(16 * minutes);
    expect(tool.members(group)).toEqual(['cmu2', 'cmu3', 'cmu4']);
    expect(await state('cmu1')).toBe('removed');
    const removals = await incident.engine.rows('removal');
    expect(removals.map((one) => (one as { clearance: string }).clearance)).toEqual(['delivered', 'braked']);
  });

  it('removes exactly the account that was found, even if another account has the old id now', async () => {
    await hire('cmu1', 'cmu2', 'cmu3', 'cmu4');
    await end('cmu1');
    tool.seed(group, 'cmu1', 'newcomer@lab.example');
    tool.seed(group, 'back-again', 'cmu1@opentrain.work');
    await check();
    await incident.pass(16 * minutes);
    expect(incident.removals()).toEqual([`remove ${group}/cmu1`, `remove ${group}/back-again`]);
    expect(tool.members(group)).toEqual(['cmu1', 'cmu2', 'cmu3', 'cmu4']);
    expect(await found('stranger')).toBe(1);
  });

  it('removes neither of two accounts that one person might have', async () => {
    await hire('cmu1', 'cmu2', 'cmu3', 'cmu4');
    await end('cmu1');
    tool.seed(group, 'a', 'cmu1@opentrain.work');
    tool.seed(group, 'b', 'CMU1@opentrain.work');
    await check();
    await incident.pass(hours);
    expect(await found('leak')).toBe(2);
    expect(tool.members(group)).toContain('a');
    expect(tool.members(group)).toContain('b');
  });

  it('removes somebody again whose removal had no answer, even if others may have such an address', async () => {
    incident = createIncident(await openFresh(), { tool });
    await hire('cmu1', 'cmu2', 'cmu3', 'cmu4');
    tool.after = (call) => {
      if (call === 'remove') throw new AppError('unavailable', 'The answer is lost');
    };
    await end('cmu1');
    tool.after = () => undefined;
    await incident.pass(hours);
    await check();
    expect((await receiptsOf(incident.engine)).at(-1)).toBe('remove already_absent');
    tool.seed(group, 'cmu1', 'cmu1@opentrain.work');
    await check();
    await incident.pass(hours);
    expect(tool.members(group)).toEqual(['cmu2', 'cmu3', 'cmu4']);
  });

  it('lets the brake hold the removals when a whole tool full of people is back', async () => {
    const all = Array.from({ length: 8 }, (_, index) => `cmu${index + 10}`);
    await hire(...all);
    for (const trainer of all) await end(trainer);
    expect(tool.members(group)).toEqual([]);
    for (const trainer of all) tool.seed(group, trainer, `${trainer}@opentrain.work`);
    await check();
    await incident.pass(16 * minutes);
    expect(tool.members(group)).toHaveLength(8);
    expect(await incident.plans()).toEqual([8]);
    // Nor does hearing of the ends once more lead past it.
    await end('cmu10');
    await incident.pass(hours);
    await check();
    expect(tool.members(group)).toHaveLength(8);
    expect(await incident.plans()).toEqual([8]);
  });

  it('keeps somebody found again who gets a contract before the grace period ends', async () => {
    await hire('cmu1', 'cmu2');
    await end('cmu1');
    tool.seed(group, 'cmu1', 'cmu1@opentrain.work');
    await check();
    await incident.event('contract.started', { trainer: 'cmu1', contract: 'another' });
    await incident.pass(hours);
    expect(tool.members(group)).toEqual(['cmu1', 'cmu2']);
    expect(await state('cmu1')).toBe('active');
    expect(await incident.plans()).toEqual([]);
  });

  describe('of a trainer whom Gangway added, and whom somebody else took out before Gangway did, who is back', () => {
    async function comeAgain(): Promise<void> {
      await hire('cmu1', 'cmu2', 'cmu3', 'cmu4');
      tool.unseat(group, 'cmu1');
      await end('cmu1');
      await check();
      expect((await receiptsOf(incident.engine)).at(-1)).toBe('remove already_absent');
      tool.seed(group, 'cmu1', 'cmu1@opentrain.work');
      await check();
      await incident.pass(hours);
    }

    it('removes them if only the marketplace gives out such addresses', async () => {
      await comeAgain();
      expect(tool.members(group)).not.toContain('cmu1');
      expect(await incident.alerts('managed_address_leaked')).toBe(0);
    });

    it('keeps them if another trainer may have the address', async () => {
      incident = createIncident(await openFresh(), { tool });
      await comeAgain();
      expect(tool.members(group)).toContain('cmu1');
      expect(await found('stranger')).toBe(1);
    });
  });

  it('removes nobody again while an install is unread after a silence', async () => {
    await hire('cmu1', 'cmu2', 'cmu3', 'cmu4');
    await end('cmu1');
    tool.seed(group, 'cmu1', 'cmu1@opentrain.work');
    const { clock } = incident.engine;
    await holdInstalls(incident.engine, ['globex'], clock.now().toISOString());
    await check();
    await incident.pass(hours);
    expect(await state('cmu1')).toBe('removed');
    expect(tool.members(group)).toContain('cmu1');
  });

  it('reports an account with an unregistered address once, and keeps it', async () => {
    await hire('cmu1');
    await incident.event('contract.started', {
      trainer: 'cmu1',
      contract: 'of-cmu1',
      workEmail: 'amara.new@opentrain.work',
    });
    await check();
    await check();
    expect(await found('address_changed')).toBe(1);
    expect(await incident.alerts('address_changed')).toBe(1);
    expect(await state('cmu1')).toBe('active');
    tool.seed(group, 'cmu1', 'Amara.New@OpenTrain.work');
    await check();
    expect(await found('address_changed')).toBe(0);
    expect(incident.removals()).toEqual([]);
  });

  it('judges no member for which a call was made since the listing began', async () => {
    await hire('cmu1', 'cmu2', 'cmu3', 'cmu4');
    await end('cmu4');
    const before = adds().length;
    // Listed before it comes in and goes out again, judged after.
    await incident.pass(2 * minutes);
    const { adapter } = tool;
    const { listMembers } = adapter;
    adapter.listMembers = async function* () {
      await incident.take('contract.started', { trainer: 'cmu5', contract: 'of-cmu5' });
      await convergeDue(incident.engine, tool);
      yield { id: 'cmu2', email: null };
      yield { id: 'cmu3', email: null };
      await touch('cmu1');
      yield { id: 'cmu4', email: 'cmu4@opentrain.work' };
      await touch('cmu4');
    };
    await incident.checkDrift();
    expect(await convergeDue(incident.engine, tool)).toEqual([]);
    expect(adds()).toHaveLength(before + 1);
    expect(await state('cmu4')).toBe('removed');
    if (listMembers !== undefined) adapter.listMembers = listMembers;
  });

  it('leaves members alone who were looked at, or are being worked on, since the listing began', async () => {
    await hire('cmu1', 'cmu2', 'cmu3', 'cmu4');
    await end('cmu4');
    await incident.pass(2 * minutes);
    const { engine } = incident;
    tool.adapter.listMembers = async function* () {
      await makeDue('cmu1', 'cmu2', 'cmu3');
      await convergeDue(engine, tool);
      await makeDue('cmu4');
      expect(await claimDue(engine)).toHaveLength(1);
      yield { id: 'cmu4', email: 'cmu4@opentrain.work' };
    };
    await incident.checkDrift();
    expect([await found('missing'), await found('found_again')]).toEqual([0, 0]);
  });

  async function makeDue(...trainers: string[]): Promise<void> {
    const { database, clock } = incident.engine;
    const nextAttemptAt = clock.now().toISOString();
    await database.kysely.updateTable('membership').set({ nextAttemptAt }).where('trainerId', 'in', trainers).execute();
  }

  /** An intent alone, as of a call whose worker has just lost its lease. */
  async function touch(trainer: string): Promise<void> {
    const { database, clock } = incident.engine;
    const rows = await incident.engine.membershipRows();
    const { id, generation } = rows.find(({ trainerId }) => trainerId === trainer) ?? {};
    if (id === undefined || generation === undefined) throw new Error('there is none');
    const intent = { membershipId: id, generation, operation: 'add', wasFound: false } as const;
    const createdAt = clock.now().toISOString();
    await inTransaction(database, (tx) =>
      tx
        .insertInto('intent')
        .values({ ...intent, createdAt })
        .execute(),
    );
  }

  it('judges no member by a listing that fails midway', async () => {
    await hire('cmu1', 'cmu2', 'cmu3');
    tool.unseat(group, 'cmu3');
    tool.betweenMembers = () => {
      throw new AppError('unavailable', 'page 2 of amara.o@opentrain.work');
    };
    await check();
    expect(adds()).toHaveLength(3);
    expect(await found('missing')).toBe(0);
    const { values } = await incident.engine.metrics.listings.get();
    expect(values).toEqual([{ labels: { tool: 'studio', outcome: 'failed' }, value: 1 }]);
    tool.betweenMembers = () => undefined;
    await check();
    expect(adds()).toHaveLength(4);
  });

  it('looks at every member, and removes none, where a listing is empty', async () => {
    await hire('cmu1', 'cmu2', 'cmu3');
    for (const id of tool.members(group)) tool.unseat(group, id);
    await check();
    expect(tool.members(group)).toEqual(['cmu1', 'cmu2', 'cmu3']);
    expect(incident.removals()).toEqual([]);
  });

  it('lists a group of two installs once', async () => {
    await hire('cmu1');
    await incident.event('contract.started', { trainer: 'cmu2', contract: 'c2' }, 'globex');
    await incident.pass(2 * minutes);
    await incident.checkDrift('acme');
    await incident.checkDrift('globex');
    expect(tool.calls.filter((call) => call === `list ${group}`)).toHaveLength(1);
  });

  it('asks a tool that does not answer no more than once', async () => {
    await hire('cmu1');
    await incident.event('contract.started', { trainer: 'cmu2', contract: 'c2', link: 'cml2', project: 'lanes' });
    await incident.pass(2 * minutes);
    tool.before = () => {
      throw new AppError('unavailable', 'down');
    };
    await incident.checkDrift();
    const listings = () => tool.calls.filter((call) => call.startsWith('list '));
    expect(listings()).toEqual(['list lanes']);
    // The next run begins with what was left.
    await incident.pass(2 * minutes);
    await incident.checkDrift();
    expect(listings()).toEqual(['list lanes', `list ${group}`]);
  });

  it('takes hostile ids and addresses as values, and writes no address into the log', async () => {
    await hire('cmu1', '__proto__', 'constructor', "'; drop table membership; --");
    tool.seed(group, 'toString', '__proto__');
    tool.seed(group, 'leak@opentrain.work', 'leak@opentrain.work');
    tool.unseat(group, '__proto__');
    await check();
    expect(tool.members(group)).toContain('__proto__');
    expect([await found('stranger'), await found('leak')]).toEqual([1, 1]);
    const lines = incident.engine.log.text();
    expect(lines).toContain('managed_address_leaked');
    expect(lines).toContain('l…@opentrain.work');
    expect(lines).not.toMatch(/\w{2,}@opentrain/);
  });

  it('is made after an install was read', async () => {
    await hire('cmu1');
    tool.unseat(group, 'cmu1');
    await incident.pass(2 * minutes);
    const active = { 'of-cmu1': { links: ['cml1'], people: ['cmu1'] } };
    await incident.read({ links: { cml1: group }, active });
    expect(tool.calls).toContain(`list ${group}`);
    expect(tool.members(group)).toEqual(['cmu1']);
  });
});
