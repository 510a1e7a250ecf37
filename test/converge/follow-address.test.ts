import { beforeEach, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { receiptsOf } from '../support/converging.ts';
import { createIncident, hours, type Incident, minutes } from '../support/incident.ts';
import { createMemoryTool, type MemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const group = 'street-signs';

describeAnyDatabase('a work email that has changed', (openFresh) => {
  let tool: MemoryTool;
  let incident: Incident;

  async function hire(trainer: string): Promise<void> {
    await incident.event('contract.started', { trainer, contract: `of-${trainer}-acme` });
    await incident.pass(minutes);
  }

  /** Lists, judges, and does what follows at once. */
  async function check(): Promise<void> {
    await incident.pass(2 * minutes);
    await incident.checkDrift();
    await incident.settle();
  }

  const state = async (trainer: string) => (await incident.states())[`${group}/${trainer}`];
  const adds = () => tool.calls.filter((call) => call.startsWith('add '));
  const renamed = 'amara.new@opentrain.work';
  const updates = () => tool.calls.filter((call) => call.startsWith('update '));
  const tell = (workEmail: string, install = 'acme') =>
    incident.event('contract.started', { trainer: 'cmu1', contract: `of-cmu1-${install}`, workEmail }, install);

  beforeEach(async () => {
    tool = createMemoryTool('membership', { lists: true, updates: true });
    incident = createIncident(await openFresh(), {
      tool,
      managedDomains: ['opentrain.work'],
      converging: { protectedAccounts: ['boss@opentrain.work'] },
    });
    await hire('cmu1');
  });

  it('is followed once, under the same account', async () => {
    await tell(renamed);
    await check();
    await check();
    expect(updates()).toEqual([`update ${group}/cmu1 ${renamed}`]);
    expect(tool.members(group)).toEqual(['cmu1']);
    expect(await state('cmu1')).toBe('active');
    expect((await receiptsOf(incident.engine)).at(-1)).toBe('update updated');
    expect(adds()).toHaveLength(1);
    await incident.event('contract.ended', { trainer: 'cmu1', contract: 'of-cmu1-acme' });
    expect(tool.members(group)).toEqual([]);
  });

  it('waits until every install that knows the trainer has it', async () => {
    await tell('cmu1@opentrain.work', 'globex');
    await tell(renamed);
    await check();
    expect(updates()).toEqual([]);
    await tell(renamed, 'globex');
    await check();
    expect(updates()).toHaveLength(1);
  });

  it.each([
    ['another account than the one that was added', '77', 'cmu1.old@opentrain.work'],
    ['one that shows no address', 'cmu1', null],
    ['one that is protected', 'cmu1', 'boss@opentrain.work'],
  ])('leaves %s', async (_which, id, email) => {
    tool.unseat(group, 'cmu1');
    tool.seed(group, id, email);
    await check();
    expect(updates()).toEqual([]);
  });

  it('leaves an account that is not ours', async () => {
    tool.seed(group, 'cmu2', 'grace@lab.example');
    await hire('cmu2');
    await check();
    expect(updates()).toEqual([]);
    expect(await state('cmu2')).toBe('active');
  });

  it('leaves an account that was changed in the tool to an address that is not managed', async () => {
    tool.seed(group, 'cmu1', 'amara@home.example');
    await check();
    expect(updates()).toEqual([]);
    expect(await incident.alerts('address_changed')).toBe(1);
  });

  it('is followed without managed domains if we added the member', async () => {
    tool = createMemoryTool('membership', { lists: true, updates: true });
    incident = createIncident(await openFresh(), { tool });
    tool.seed(group, 'cmu2', 'grace@lab.example');
    await hire('cmu1');
    await hire('cmu2');
    await tell('amara@elsewhere.example');
    await check();
    expect(updates()).toEqual([`update ${group}/cmu1 amara@elsewhere.example`]);
  });

  it('leaves an account that another trainer uses too', async () => {
    const { database } = incident.engine;
    await hire('cmu3');
    // An id alone does not show whose account it is.
    const shared = { trainer: 'cmu3', contract: 'of-cmu3-acme', workEmail: 'cmu1@opentrain.work' };
    await incident.event('contract.started', shared);
    await database.kysely.updateTable('membership').set({ memberId: 'cmu1' }).where('trainerId', '=', 'cmu3').execute();
    await tell(renamed);
    await check();
    expect(updates()).toEqual([]);
  });

  it('lets no trainer in under an address that is not managed', async () => {
    await tell('amara@elsewhere.example');
    await check();
    expect(updates()).toEqual([]);
  });

  it('retries after a refusal of the tool', async () => {
    tool.before = (call) => {
      if (call === 'update') throw new AppError('conflict', 'the address is taken');
    };
    await tell(renamed);
    await check();
    expect(await state('cmu1')).toBe('failed');
    expect(tool.members(group)).toEqual(['cmu1']);
    tool.before = () => undefined;
    await incident.pass(2 * hours);
    expect([await state('cmu1'), updates().length]).toEqual(['active', 2]);
  });

  it('believes what the tool shows, and not its answer', async () => {
    tool.after = (call) => {
      if (call === 'update') tool.seed(group, 'cmu1', 'cmu1@opentrain.work');
    };
    await tell(renamed);
    await check();
    expect((await receiptsOf(incident.engine)).at(-1)).toBe('add failed');
    tool.after = () => undefined;
    await incident.pass(hours);
    expect((await receiptsOf(incident.engine)).at(-1)).toBe('update updated');
  });
});
