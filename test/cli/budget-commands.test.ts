import { beforeEach, describe, expect, it } from 'vitest';
import { openWorld } from '../sandbox/sandbox-harness.ts';
import { until } from '../support/until.ts';
import { refused, useBridge } from './bridge.ts';

describe('budgets in commands', { timeout: 60_000 }, () => {
  let ids: { low: string; depleted: string; ok: string };

  const workspace = useBridge(async () => {
    const { sandbox, baseUrl, token, jobId, api, link } = await openWorld();
    await link('signs');
    const hire = async (hours: number) => {
      const { contractId } = sandbox.hire({ jobId });
      sandbox.fundMilestone(contractId, { volume: 10 });
      const entries = [{ workDate: new Date().toISOString().slice(0, 10), totalSeconds: hours * 3600 }];
      await api('POST', `/contracts/${contractId}/usage`, { body: { entries } });
      return contractId;
    };
    ids = { low: await hire(8.5), depleted: await hire(12), ok: await hire(1) };
    return { marketplace: { baseUrl }, installs: { acme: { token, tool: 'list', projects: ['*'] } } };
  });
  const { run, runJson, runOk } = workspace;

  beforeEach(async () => {
    await run('reconcile');
    await workspace.whileRunning(() =>
      workspace.withStorage(async ({ database: { kysely } }) => {
        const known = async () =>
          (await kysely.selectFrom('budget').select('state').execute()).filter(({ state }) => state !== null).length;
        await until('the budgets are read', known, (count) => count === 3);
      }),
    );
  });

  it('are listed by state', async () => {
    const lines = (await runOk('contracts', 'list', '--budget', 'low')).trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(new RegExp(` ${ids.low} +Amara O\\. +acme +active .* low +85 % `));
    const depleted = await runJson('contracts', 'list', '--budget', 'depleted');
    expect(depleted.items).toMatchObject([
      { contractId: ids.depleted, budgetState: 'depleted', consumedFraction: 1.2 },
    ]);
    expect((await runJson('contracts', 'list')).items).toHaveLength(3);
    const unknown = await run('contracts', 'list', '--budget', 'gone');
    expect(unknown).toMatchObject(refused('one of: ok, low, depleted, unknown', 64));
  });

  it('are explained: when it was read, what was notified, and when it is read next', async () => {
    const { stdout } = await run('explain', ids.low);
    const [, text = ''] = stdout.split(`The budget of contract ${ids.low} of acme\n`);
    expect(text).toMatch(
      /^ {2}state {2}low: 85 % of 10 used, 1\.5 left\n {2}read {3}at \S+ \S+ UTC; to be read after \S+ \S+ UTC\n {2}notice low, at \S+ \S+ UTC\n$/,
    );
    const { budgets } = await runJson('explain', ids.ok);
    expect(budgets).toMatchObject([
      { install: 'acme', contractId: ids.ok, state: 'ok', lastNotice: null, failure: null },
    ]);
  });

  it('are explained if they cannot be read', async () => {
    await workspace.withStorage(async ({ database: { kysely } }) => {
      const failure = 'no answer\u001b[31m\nat all';
      await kysely.updateTable('job').set({ failure }).where('kind', '=', 'budget').execute();
    });
    const { stdout } = await run('explain', ids.low);
    expect(stdout).toMatch(/; to be read after /);
    expect(stdout).toMatch(/\n {2}fails {2}no answer\P{Cc}*at all\n$/u);
  });

  it('are counted by status, which says what needs the operator', async () => {
    const { stdout } = await run('status');
    expect(stdout).toContain('waiting  1 contract of acme has no budget left.\n');
    expect(stdout).toContain('notice   1 contract of acme is running out of budget.\n');
    expect(stdout).toMatch(
      /\nBudgets of contracts under way\ninstall +state +count\nacme +depleted +1\nacme +low +1\nacme +ok +1\n/,
    );
    const { budgets } = await runJson('status');
    expect(budgets).toContainEqual({ install: 'acme', state: 'low', count: 1 });
  });
});
