import { describe, expect, it } from 'vitest';
import { addDays } from '../../src/lib/days.ts';
import { insert } from '../support/insert.ts';
import { openUsageWorkspace } from '../support/usage-workspace.ts';

const minute = { seconds: 60, tasks: 1, labels: 2 };
const hour = { seconds: 3600, tasks: 3, labels: 4 };
const none = { seconds: null, tasks: null, labels: null };

/** An hour before the contract began, which is held, and a minute since. */
async function openHeldWork() {
  const world = await openUsageWorkspace(minute);
  const { hired, today, count, run } = world;
  const yesterday = addDays(today, -1);
  count(minute, { memberId: hired.trainerId, of: 'day', day: yesterday, ...hour });
  expect(await run('usage', 'report')).toMatchObject({ status: 3, said: { installs: [{ sent: 1, held: 1 }] } });
  const [{ id }] = (await run('usage', 'held')).said.held;
  const key = { install: 'acme', contractId: hired.contractId, trainerId: hired.trainerId };
  /** Of each listed day, the status and why. */
  const check = async (...argv: string[]) => {
    const { status, said } = await run('usage', 'check', ...argv);
    return [status, ...said.days.map(({ day, why }: { day: string; why: string | null }) => `${day} ${why}`)];
  };
  return { ...world, yesterday, id, key, check };
}

describe('gangway usage check', { timeout: 60_000 }, () => {
  it('shows for each differing day what was seen, due and answered, and why', async () => {
    const { run, print, yesterday, id, key, today, hired } = await openHeldWork();
    const { status, said } = await run('usage', 'check');
    expect(status).toBe(2);
    expect(said).toEqual({
      sums: [
        {
          install: 'acme',
          days: 2,
          differing: 1,
          seen: { seconds: 3660, tasks: 4, labels: 6 },
          due: minute,
          answered: minute,
          held: hour,
          usd: 0,
        },
      ],
      days: [
        {
          ...key,
          displayName: 'Amara O.',
          id,
          day: yesterday,
          seen: hour,
          due: none,
          answered: none,
          difference: hour,
          usd: null,
          why: 'held',
          reason: 'before_start',
        },
      ],
      left: 0,
      older: null,
    });
    const { stdout } = await print('usage', 'check');
    expect(stdout).toMatch(/done before the contract started/);
    expect(stdout).toMatch(/\nacme +2 +1 +1 +1 +0 +0\n$/);
    const all = await run('usage', 'check', '--all');
    expect(all.said.days).toMatchObject([
      { day: today, why: null, due: minute, answered: minute },
      { day: yesterday, why: 'held' },
    ]);
    expect((await run('usage', 'check', '--from', today)).status).toBe(0);
    expect((await run('usage', 'check', '--to', yesterday, '--contract', hired.contractId)).status).toBe(2);
    expect((await run('usage', 'check', '--install', 'none')).status).toBe(1);
    expect((await run('usage', 'check', '--contract', 'none')).status).toBe(1);
  });

  it('shows in dollars what is not paid, if the rate of the contract is known', async () => {
    const { run, print, workspace, key } = await openHeldWork();
    await workspace.withStorage(async ({ database: { kysely } }) => {
      const { install, contractId } = key;
      const budget = { paymentType: 'PAY_PER_HOUR', fundedVolume: 10, fundedAmountUsd: 200 };
      await kysely.deleteFrom('budget').execute();
      await insert(kysely, 'budget', { install, contractId, ...budget });
    });
    const { said } = await run('usage', 'check');
    expect(said).toMatchObject({ sums: [{ usd: 20 }], days: [{ usd: 20 }] });
    expect((await print('usage', 'check')).stdout).toMatch(/20\.00\n$/);
  });

  it('lists work that is not sent yet, and nothing once it is sent', async () => {
    const { run, print, count, check, today } = await openHeldWork();
    count({ ...minute, seconds: 90 });
    await run('usage', 'report', '--to', '2020-01-01');
    expect(await check('--from', today)).toEqual([2, `${today} not_sent`]);
    await run('usage', 'report');
    expect(await check('--from', today)).toEqual([0]);
    const { status, stdout } = await print('usage', 'check', '--from', today);
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^The marketplace has what is due\.\n/)]);
  });

  it('corrects wrong rows by a recount, says for how many trainers, and ends with 2', async () => {
    const { run, print, workspace, check, today } = await openHeldWork();
    const from = ['--from', today];
    expect(await run('usage', 'recount')).toMatchObject({ status: 0, said: { trainers: 0, days: 0 } });
    await workspace.withStorage(async ({ database: { kysely } }) => {
      await kysely.updateTable('usageDue').set({ seconds: 1 }).execute();
    });
    expect(await check(...from)).toEqual([2, `${today} not_sent`]);
    const { status, stdout } = await print('usage', 'recount');
    expect([status, stdout]).toEqual([
      2,
      expect.stringContaining('1 day of 1 trainer did not follow from the sources'),
    ]);
    expect(await check(...from)).toEqual([0]);
  });
});

describe('a decision about work', { timeout: 60_000 }, () => {
  it('assigns, takes back and discards, and is listed with --decided', async () => {
    const { run, print, check, id, yesterday, hired } = await openHeldWork();
    const held = async (...argv: string[]) =>
      (await run('usage', 'held', ...argv)).said.held.map((one: { id: string; state: string }) => [one.id, one.state]);
    const assigned = await print('usage', 'assign', id, hired.contractId);
    expect(assigned.stdout).toBe(`${id} is assigned to ${hired.contractId}. The next report sends it.\n`);
    expect([await held(), await held('--decided')]).toEqual([[], [[id, 'assigned']]]);
    expect(await check()).toEqual([2, `${yesterday} not_sent`]);
    expect(await run('usage', 'report')).toMatchObject({ status: 0, said: { installs: [{ sent: 1, held: 0 }] } });
    expect(await check()).toEqual([0]);
    expect((await print('usage', 'take-back', id)).stdout).toContain('is taken back');
    expect([await held(), await held('--decided')]).toEqual([[[id, 'held']], []]);
    expect(await check()).toEqual([2, `${yesterday} held`]);
    expect((await print('usage', 'discard', id)).stdout).toContain('never reported');
    expect([await held(), await held('--decided')]).toEqual([[], [[id, 'discarded']]]);
    expect(await check()).toEqual([0, `${yesterday} discarded`]);
    expect((await print('usage', 'show', hired.contractId)).stdout).toContain('discarded by an operator');
    expect(await run('usage', 'take-back', id)).toMatchObject({
      status: 0,
      said: { id },
    });
    expect(await run('usage', 'take-back', id)).toMatchObject({ status: 1 });
  });

  it('sends or dismisses work that changed after the last report of its day', async () => {
    const { run, print, count, check, close, today, hired, workspace } = await openHeldWork();
    const of = ['--from', today];
    await close();
    count({ ...minute, seconds: 90 });
    expect(await run('usage', 'report')).toMatchObject({ said: { installs: [{ sent: 0 }] } });
    const { said } = await run('usage', 'held');
    expect(said.late).toEqual([
      {
        install: 'acme',
        ...hired,
        displayName: 'Amara O.',
        day: today,
        id: expect.stringMatching(/^gw-/),
        from: minute,
        to: { ...minute, seconds: 90 },
      },
    ]);
    const [{ id }] = said.late;
    expect((await print('usage', 'held')).stdout).toMatch(/after their last report:\n(.*\n)+.*60 → 90/);
    expect((await run('status')).said.troubles).toContainEqual(
      expect.objectContaining({ kind: 'usage_late', install: 'acme', count: 1 }),
    );
    await workspace.withStorage(async ({ database: { kysely } }) => {
      const [row] = await kysely.selectFrom('usageHeld').selectAll().execute();
      if (row === undefined) throw new Error('no work is held');
      const discarded = {
        ...row,
        id: '0123456789ab',
        work: 'more of the day',
        day: today,
        state: 'discarded' as const,
      };
      await insert(kysely, 'usageHeld', discarded);
    });
    expect(await check(...of)).toEqual([2, `${today} late`]);
    expect((await run('usage', 'check', ...of)).said.days).toMatchObject([{ id }]);
    expect(await run('usage', 'discard', id)).toMatchObject({ status: 64 });
    expect((await print('usage', 'dismiss', id)).stdout).toContain('is dismissed');
    expect(await check(...of)).toEqual([0, `${today} dismissed`]);
    expect((await run('usage', 'held')).said.late).toEqual([]);
    expect((await print('usage', 'send', id)).stdout).toContain('once more');
    expect(await run('usage', 'report')).toMatchObject({ said: { installs: [{ sent: 1 }] } });
    // What is left is the discarded work of the day.
    expect(await check(...of)).toEqual([0, `${today} discarded`]);
    const acts = (await run('audit')).said.items.filter(({ action }: { action: string }) => action === 'usage held');
    expect(acts.map(({ subject }: { subject: string }) => subject)).toEqual([`${id} sent`, `${id} dismissed`]);
  });
});
