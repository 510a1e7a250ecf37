import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { claimDue, converge, receiptsOf } from '../../support/converging.ts';
import type { OpenFresh } from '../../support/databases.ts';
import { createIncident, hours, type Incident, minutes } from '../../support/incident.ts';
import { createMemoryTool, type MemoryTool } from '../../support/memory-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const signs = 'street-signs';
const admin = 'admin@lab.example';
const [one, colluder] = ['amara@opentrain.work', 'colluder@evil.example'];

/** Logins apart from groups, each known by its address, which is its id. */
function openIncident(
  openFresh: OpenFresh,
  options: Omit<NonNullable<Parameters<typeof createIncident>[1]>, 'tool'> = {},
): Promise<{ incident: Incident; tool: MemoryTool }> {
  const tool = createMemoryTool('membership', {
    ...({ keyedBy: 'address', hasAccounts: true, updates: true, lists: true } as const),
  });
  tool.seedAccount(admin, admin);
  return openFresh().then((database) => ({
    tool,
    incident: createIncident(database, { ...options, tool }),
  }));
}

describeAnyDatabase('an account that was there before', (openFresh) => {
  let incident: Incident;
  let tool: MemoryTool;

  beforeEach(async () => {
    ({ incident, tool } = await openIncident(openFresh));
  });

  const changes = () => tool.calls.filter((call) => /^(end|update) /.test(call));

  it('is removed from the group that it was added to, and never ended', async () => {
    await incident.event('contract.started', { workEmail: admin });
    expect(tool.members(signs)).toEqual([admin]);
    await incident.event('contract.ended', { workEmail: admin });
    expect(incident.removals()).toEqual([`remove ${signs}/${admin}`]);
    expect([tool.members(signs), tool.accounts()]).toEqual([[], [admin]]);
  });

  it('is never given another address', async () => {
    await incident.event('contract.started', { workEmail: admin });
    await incident.event('contract.started', { workEmail: colluder });
    await incident.pass(2 * minutes);
    await incident.checkDrift();
    await incident.settle();
    await incident.event('contract.ended', { workEmail: colluder });
    expect(changes()).toEqual([]);
    expect(tool.accounts()).toEqual([admin]);
  });

  it('is not ours because of an account under another address of the same trainer', async () => {
    tool.seed(signs, admin, admin);
    await incident.event('contract.started', { workEmail: colluder });
    tool.unseat(signs, colluder);
    await incident.event('contract.started', { workEmail: admin });
    await incident.pass(hours);
    await incident.checkDrift();
    await incident.settle();
    await incident.event('contract.ended', { workEmail: admin });
    expect(tool.members(signs)).toEqual([admin]);
    expect(tool.accounts()).toContain(admin);
  });

  it('that we made is ended, in whichever group it was made', async () => {
    const lamps = { contract: 'cmc2', link: 'cml2', project: 'lamps' };
    await incident.event('contract.started', { workEmail: one });
    await incident.event('contract.started', { workEmail: one, ...lamps });
    await incident.event('contract.ended', { workEmail: one });
    await incident.event('contract.ended', { workEmail: one, ...lamps });
    expect(incident.removals()).toEqual([`remove ${signs}/${one}`, `end lamps/${one}`]);
    expect(tool.accounts()).toEqual([admin]);
  });

  it('is ended, however many people another customer gives its address to', async () => {
    await incident.event('contract.started', { workEmail: one });
    const { kysely } = incident.engine.database;
    await sql`
      with recursive many (n) as (select 1 union all select n + 1 from many where n < 40000)
      insert into person (install, trainer_id, work_email, work_email_digest, work_email_domain)
      select 'globex', 'usr_' || n, work_email, work_email_digest, work_email_domain
      from person, many`.execute(kysely);
    await incident.event('contract.ended', { workEmail: one });
    expect(incident.removals()).toEqual([`end ${signs}/${one}`]);
  });

  it('is removed, however many others have its address in the tool', async () => {
    await incident.event('contract.started', { workEmail: one });
    const { kysely } = incident.engine.database;
    await sql`
      with recursive many (n) as (select 1 union all select n + 1 from many where n < 40000)
      insert into membership
        (tool, group_id, trainer_id, wanted, generation, state, is_ours, attempts, updated_at, install)
      select tool, 'lamps', 'usr_' || n, 0, 1, 'held', 0, 0, updated_at, 'globex'
      from membership, many`.execute(kysely);
    await sql`
      insert into membership_address
        (membership_id, install, trainer_id, work_email, work_email_digest, is_current)
      select other.id, 'globex', other.trainer_id, work_email, work_email_digest, 1
      from membership other, membership_address where other.group_id = 'lamps'`.execute(kysely);
    await incident.event('contract.ended', { workEmail: one });
    expect(incident.removals()).toEqual([`remove ${signs}/${one}`]);
  });

  it.each(['after', 'while'])('is ours for the trainer that it was found for %s it was made', async (moment) => {
    const second = { trainer: 'cmu2', contract: 'cmc2', workEmail: one };
    await incident.take('contract.started', { workEmail: one });
    const [making] = await claimDue(incident.engine);
    if (making === undefined) throw new Error('no person to add');
    tool.after = async (call) => {
      if (call !== 'add') return;
      tool.after = () => undefined;
      await incident.event('contract.started', second);
      if (moment === 'while') await incident.event('contract.ended', second);
    };
    expect(await converge(incident.engine, tool, making)).toMatchObject({ outcome: 'added' });
    await incident.event('contract.ended', second);
    expect(tool.members(signs)).toEqual([one]);
    await incident.event('contract.ended', { workEmail: one });
    expect([tool.members(signs), tool.accounts()]).toEqual([[], [admin]]);
  });

  it('keeps no trainer in for another trainer who returned to it under another address', async () => {
    const second = { trainer: 'cmu2', contract: 'cmc2' };
    await incident.event('contract.started', { workEmail: one });
    await incident.event('contract.started', { ...second, workEmail: one });
    await incident.event('contract.ended', { ...second, workEmail: one });
    const again = { trainer: 'cmu2', contract: 'cmc3', workEmail: colluder };
    await incident.event('contract.started', again);
    await incident.event('contract.ended', again);
    expect(tool.members(signs)).toContain(one);
    await incident.event('contract.ended', { workEmail: one });
    expect([tool.members(signs), tool.accounts()]).toEqual([[], [admin]]);
  });

  it('is ours if the answer to its creation was lost', async () => {
    tool.after = (call) => {
      if (call === 'add') throw new AppError('unavailable', 'no answer');
    };
    await incident.event('contract.started', { workEmail: one });
    tool.after = () => undefined;
    await incident.pass(minutes);
    expect(await receiptsOf(incident.engine)).toContain('add already_member');
    await incident.event('contract.ended', { workEmail: one });
    expect(incident.removals()).toEqual([`end ${signs}/${one}`]);
  });

  it('is not ours if the tool refused to make it and others made it', async () => {
    tool.before = (call) => {
      if (call === 'add') throw new AppError('invalid', 'there is no such group');
    };
    await incident.event('contract.started', { workEmail: one });
    tool.before = () => undefined;
    tool.seedAccount(one, one);
    await incident.pass(2 * hours);
    await incident.event('contract.ended', { workEmail: one });
    expect(incident.removals()).toEqual([`remove ${signs}/${one}`]);
    expect(tool.accounts()).toContain(one);
  });

  it('is removed from every group before it is ended', async () => {
    const lamps = { contract: 'cmc2', link: 'cml2', project: 'lamps' };
    await incident.event('contract.started', { workEmail: one });
    await incident.event('contract.started', { workEmail: one, ...lamps });
    await incident.take('contract.ended', { workEmail: one });
    await incident.take('contract.ended', { workEmail: one, ...lamps });
    await incident.settle();
    expect(incident.removals().slice(0, 2)).toEqual([
      expect.stringMatching(/^remove /),
      expect.stringMatching(/^end /),
    ]);
    expect([tool.members(signs), tool.members('lamps'), tool.accounts()]).toEqual([[], [], [admin]]);
  });

  it('keeps its seat in a group that the marketplace itself has put it into', async () => {
    const converging = { managedDomains: ['opentrain.work'] };
    ({ incident, tool } = await openIncident(openFresh, converging));
    tool.seed(signs, one, one);
    const managed = { contract: 'cmc9', trainer: 'cmu9', provisioningMode: 'MANAGED_ADAPTER' };
    await incident.event('contract.started', { ...managed, workEmail: one }, 'globex');
    await incident.event('contract.started', { workEmail: one });
    await incident.event('contract.ended', { workEmail: one });
    expect(incident.removals()).toEqual([]);
    expect(tool.members(signs)).toEqual([one]);
  });

  it('is not kept because another customer names it for a trainer', async () => {
    const managed = { contract: 'cmc9', provisioningMode: 'MANAGED_ADAPTER' };
    await incident.event('contract.started', { workEmail: one }, 'honest');
    for (const workEmail of [null, colluder]) {
      await incident.event('contract.started', { ...managed, workEmail }, 'hostile');
    }
    await incident.event('contract.ended', { workEmail: one }, 'honest');
    expect([tool.members(signs), tool.accounts()]).toEqual([[], [admin]]);
  });

  it('stays while the marketplace itself provisions a project for them', async () => {
    const managed = {
      contract: 'cmc9',
      trainer: 'cmu9',
      link: 'cml9',
      project: 'b-1',
      provisioningMode: 'MANAGED_ADAPTER',
    };
    await incident.event('contract.started', { workEmail: one });
    await incident.event('contract.started', { ...managed, workEmail: one }, 'globex');
    await incident.event('contract.ended', { workEmail: one });
    expect(incident.removals()).toEqual([`remove ${signs}/${one}`]);
  });
});

describeAnyDatabase('a protected account', (openFresh) => {
  it('is not added by its id either', async () => {
    const converging = { protectedAccounts: ['u-1'] };
    const { incident, tool } = await openIncident(openFresh, { converging });
    tool.adapter.findAccount = async () => ({ id: 'u-1', email: admin });
    await incident.event('contract.started', { workEmail: admin });
    expect(tool.members(signs)).toEqual([]);
    expect(tool.calls.filter((call) => call.startsWith('add'))).toEqual([]);
    expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'failed' });
  });

  it('is removed again at once if it could not be recognised before', async () => {
    const converging = { protectedAccounts: [colluder] };
    const { incident, tool } = await openIncident(openFresh, { converging });
    const { findAccount: _, ...adapter } = tool.adapter;
    tool.adapter = {
      ...adapter,
      // The tool knows them under another address than they were named by.
      addMember: (group, person, signal) => adapter.addMember(group, { ...person, email: colluder }, signal),
    };
    await incident.event('contract.started', { workEmail: one });
    expect(tool.members(signs)).toEqual([]);
    expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'failed' });
  });
});

describeAnyDatabase('where customers share the tool', (openFresh) => {
  it('no account is ended or given another address, also of those we made', async () => {
    const converging = { mayChangeAccounts: false };
    const { incident, tool } = await openIncident(openFresh, { converging });
    await incident.event('contract.started', { workEmail: one });
    await incident.event('contract.started', { workEmail: 'renamed@opentrain.work' });
    await incident.pass(2 * minutes);
    await incident.checkDrift();
    await incident.settle();
    await incident.event('contract.ended', {});
    expect(tool.calls.filter((call) => /^(end|update) /.test(call))).toEqual([]);
    expect(tool.members(signs)).toEqual([]);
    const receipts = await incident.engine.rows('receipt');
    expect(receipts.at(-1)).toMatchObject({ outcome: 'removed' });
  });
});

describeAnyDatabase('installs that know different addresses for one trainer', (openFresh) => {
  let incident: Incident;
  let tool: MemoryTool;

  beforeEach(async () => {
    ({ incident, tool } = await openIncident(openFresh));
  });

  const words = [
    ['hostile', colluder],
    ['honest', one],
  ] as const;

  describe.each([
    ['the hostile one first', words],
    ['the honest one first', words.toReversed()],
  ])('%s', (_, order) => {
    beforeEach(async () => {
      for (const [install, workEmail] of order) {
        await incident.event('contract.started', { contract: `of-${install}`, workEmail }, install);
      }
    });

    const end = (install: string) => incident.event('contract.ended', { contract: `of-${install}` }, install);

    it('each have their own person in, by an access of its own', async () => {
      expect(tool.members(signs)).toEqual([one, colluder].toSorted());
      expect(await incident.alerts('address_disagreement')).toBe(1);
    });

    it.each([
      ['honest', 'hostile'],
      ['hostile', 'honest'],
    ])('lose theirs with their own contract alone: %s before %s', async (first, second) => {
      await end(first);
      expect(tool.members(signs)).toEqual([first === 'honest' ? colluder : one]);
      await end(second);
      expect(tool.members(signs)).toEqual([]);
      expect(tool.accounts()).toEqual([admin]);
    });

    it('never lose it to what the other customer says later', async () => {
      const later = { contract: 'of-hostile', workEmail: 'second@evil.example' };
      await incident.event('contract.started', later, 'hostile');
      await incident.pass(hours);
      expect(tool.members(signs)).toContain(one);
      await end('hostile');
      expect(tool.members(signs)).toEqual([one]);
    });
  });

  it('has no effect on a trainer who was in before under the same address', async () => {
    await incident.event('contract.started', { contract: 'c1', workEmail: one }, 'honest');
    await incident.event('contract.started', { contract: 'c2', workEmail: one }, 'hostile');
    await incident.event('contract.started', { contract: 'c2', workEmail: colluder }, 'hostile');
    await incident.pass(hours);
    expect(tool.members(signs)).toEqual([one]);
    await incident.event('contract.ended', { contract: 'c2' }, 'hostile');
    expect(tool.members(signs)).toEqual([one]);
    await incident.event('contract.ended', { contract: 'c1' }, 'honest');
    expect(tool.members(signs)).toEqual([]);
  });

  it('leave nothing behind when an address was named late and changed then', async () => {
    const of = { contract: 'c1' };
    await incident.event('contract.started', { ...of, workEmail: null }, 'hostile');
    await incident.event('contract.started', { ...of, workEmail: colluder }, 'hostile');
    await incident.event('contract.started', { ...of, workEmail: 'x@evil.example' }, 'hostile');
    await incident.event('contract.ended', of, 'hostile');
    await incident.pass(minutes);
    expect(tool.members(signs)).toEqual([]);
    expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'removed' });
  });

  it('take over no account with an address that they named only later', async () => {
    await incident.event('contract.started', { contract: 'c1', workEmail: one }, 'honest');
    const other = { contract: 'c2', trainer: 'cmu2' };
    await incident.event('contract.started', { ...other, workEmail: colluder }, 'hostile');
    await incident.event('contract.started', { ...other, workEmail: one }, 'hostile');
    tool.unseat(signs, colluder);
    await incident.event('contract.ended', other, 'hostile');
    await incident.pass(hours);
    expect(tool.members(signs)).toEqual([one]);
    expect((await incident.states())[`${signs}/cmu2`]).toBe('removed');
    await incident.event('contract.ended', { contract: 'c1' }, 'honest');
    expect(tool.members(signs)).toEqual([]);
  });

  it('gives an access of its own to the customer that named no address at first', async () => {
    await incident.event('contract.started', { contract: 'c1', workEmail: colluder }, 'hostile');
    await incident.event('contract.started', { contract: 'c2', workEmail: null }, 'honest');
    expect(tool.members(signs)).toEqual([colluder]);
    await incident.event('contract.started', { contract: 'c2', workEmail: one }, 'honest');
    expect(tool.members(signs)).toEqual([one, colluder].toSorted());
    await incident.event('contract.ended', { contract: 'c1' }, 'hostile');
    expect(tool.members(signs)).toEqual([one]);
  });
});

describeAnyDatabase('every address that a trainer was let in under', (openFresh) => {
  /** By the second address, and by the first one late: the answer to that was lost. */
  async function comeTwice({ incident, tool }: { incident: Incident; tool: MemoryTool }) {
    tool.isLate = (call) => call === 'add';
    await incident.event('contract.started', { workEmail: colluder });
    tool.isLate = () => false;
    await incident.event('contract.started', { workEmail: one });
    await incident.pass(minutes);
    tool.arrive();
    expect(tool.members(signs)).toEqual([one, colluder].toSorted());
  }

  it('is removed at the end, even if an answer was lost and the address changed', async () => {
    const { incident, tool } = await openIncident(openFresh);
    await comeTwice({ incident, tool });
    await incident.event('contract.ended', { workEmail: one });
    expect(tool.members(signs)).toEqual([]);
    expect(tool.accounts()).toEqual([admin]);
  });

  it('is retried if the tool fails, and holds nothing else up', async () => {
    const { incident, tool } = await openIncident(openFresh);
    await comeTwice({ incident, tool });
    tool.before = (call, subject) => {
      if (call === 'find' && subject.endsWith(colluder)) {
        throw new AppError('unavailable', 'no answer');
      }
    };
    await incident.event('contract.ended', { workEmail: one });
    expect(tool.members(signs)).toEqual([colluder]);
    expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'removing' });
    tool.before = () => undefined;
    await incident.pass(hours);
    await incident.pass(minutes);
    expect(tool.members(signs)).toEqual([]);
    expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'removed' });
  });
});
