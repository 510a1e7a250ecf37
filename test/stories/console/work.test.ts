import { describe, expect, it } from 'vitest';
import { readSetting } from '../../../src/db/setting-store.ts';
import { sqlite } from '../../support/databases.ts';
import { liveThrough, openJourney } from '../../support/journey.ts';
import { until } from '../../support/until.ts';
import { createVisitor } from '../../support/visitor.ts';
import { createWorkingTool } from '../../support/working-tool.ts';

const hourMs = 3_600_000;

/** Two trainers work on contracts of their own; each hour their work is reported and compared. */
async function openWork() {
  const tool = createWorkingTool();
  const journey = await openJourney(sqlite, { adapter: tool.adapter, piiConsent: true });
  const { sandbox, customer, clock, storage, quiet, consoleUrl } = journey;
  const day = clock.now().toISOString().slice(0, 10);
  await customer.link('street-signs');
  const hire = () => {
    const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId });
    sandbox.fundMilestone(contractId, { volume: 100 });
    return { contractId, trainerId: trainers[0]?.opentrainUserId ?? '' };
  };
  const [steady, hasty] = [hire(), hire()];
  await quiet();
  async function passHours(hours: number): Promise<void> {
    await liveThrough(storage, clock, hours * hourMs);
    const since = clock.now().toISOString();
    const comparedAt = async () => (await readSetting(storage.database.kysely, 'usage_compared_at')) ?? '';
    await until('the work is compared', comparedAt, (at) => at >= since);
    await quiet();
  }
  const visitor = createVisitor(consoleUrl);
  const rowsOf = (text: string, with_: string) => text.split('\n').filter((line) => line.includes(with_));
  return { ...journey, tool, day, steady, hasty, passHours, visitor, rowsOf };
}

describe('the pages of work', () => {
  it('say what would stand there before work was read', async () => {
    const { consoleUrl } = await openJourney(sqlite);
    const visitor = createVisitor(consoleUrl);
    expect((await visitor.signIn('vera')).text).toContain('No work was read and reported yet.');
    expect((await visitor.visit('/work')).text).toContain('Nothing was compared yet.');
    expect((await visitor.visit('/work/held')).text).toContain('No work is held.');
    expect((await visitor.visit('/work/days/2026-02-30')).status).toBe(404);
    expect((await visitor.visit('/work/held/none')).status).toBe(404);
    expect((await visitor.visit('/work/contracts/none')).status).toBe(404);
  });

  it('lead from home to the day on which tool and marketplace differ, and to why', async () => {
    const { tool, day, steady, hasty, passHours, visitor, rowsOf } = await openWork();
    tool.work(day, steady.trainerId, 8);
    tool.work(day, hasty.trainerId, 2);
    await passHours(1);
    expect((await visitor.signIn('vera')).text).toContain('of the last 30 days as the tools counted it');
    const before = await visitor.visit('/work');
    expect(rowsOf(before.text, day)).toContain(`${day} | 10 h | 10 h | |`);
    const chart = before.html.querySelector('svg[role=img]');
    expect(chart?.querySelectorAll('rect.bar')).toHaveLength(1);
    expect(chart?.querySelectorAll('path.mark')).toHaveLength(0);
    expect((await visitor.visit('/work?differs=yes')).text).toContain('No such day.');

    tool.work(day, hasty.trainerId, 30);
    await passHours(1);
    const home = await visitor.visit('/');
    const link = home.html
      .querySelectorAll('main a')
      .find(({ text }) => text.startsWith('Tool and marketplace differ'));
    expect(link?.text).toBe('Tool and marketplace differ on 1 day of the last 30');
    const days = await visitor.visit(link?.getAttribute('href') ?? '');
    expect(days.path).toBe('/work?differs=yes');
    expect(rowsOf(days.text, `${day} |`)).toEqual([`${day} | 38 h | 10 h | | 1`]);
    expect(days.html.querySelectorAll('svg path.mark')).toHaveLength(1);
    const onDay = await visitor.visit(`/work/days/${day}`);
    expect(rowsOf(onDay.text, 'acme |')).toEqual([
      expect.stringContaining(`| acme | ${hasty.contractId} | 30 h | 2 h | held: more than 24 hours`),
    ]);
    const contract = await visitor.visit(`/work/contracts/${steady.contractId}`);
    expect(rowsOf(contract.text, `${day} |`)).toEqual([expect.stringContaining(`| 8 h | 8 h | |`)]);
    expect((await visitor.visit(`/work/contracts/${steady.contractId}?differs=yes`)).text).toContain('No such day.');
  });

  it('let an operator discard held work and accept what would be lowered, and keep who did', async () => {
    const { tool, day, steady, hasty, passHours, visitor, rowsOf, storage } = await openWork();
    tool.work(day, steady.trainerId, 8);
    tool.work(day, hasty.trainerId, 30);
    await passHours(1);
    tool.work(day, steady.trainerId, 4);
    // Only a complete reading lowers anything, once a day.
    await passHours(24);
    await visitor.signIn('otto');
    const held = await visitor.visit('/work/held');
    expect(rowsOf(held.text, `${day} |`)).toHaveLength(2);
    const links = held.html.querySelectorAll('main td a').map((one) => one.getAttribute('href') ?? '');
    const one = await visitor.visit(links.find((href) => /^\/work\/held\//.test(href)) ?? '');
    expect(one.text).toContain('30 h');
    const after = await visitor.press(one, 'Discard it: never report it');
    expect(after.path).toBe('/work/held');
    expect(rowsOf(after.text, `${day} |`)).toEqual([expect.stringContaining('8 h | held: it would be lowered')]);
    const contract = await visitor.visit(`/work/contracts/${steady.contractId}?install=acme`);
    const lowered = await visitor.press(contract, 'Accept and report the lower counts');
    expect(rowsOf(lowered.text, `${day} |`)).toEqual([expect.stringContaining('| 4 h | 4 h | |')]);
    expect((await visitor.visit('/work/held')).text).toContain('No work is held.');
    const acts = storage.database.kysely.selectFrom('audit').select(['actor', 'action']).orderBy('id');
    expect(await acts.execute()).toEqual([
      { actor: 'otto', action: 'usage held' },
      { actor: 'otto', action: 'usage report --accept-lowered' },
    ]);
  });

  it('let an operator assign held work to the contract that it may be of', async () => {
    const { tool, day, hasty, passHours, visitor, rowsOf, consoleUrl } = await openWork();
    tool.work(day, hasty.trainerId, 30);
    await passHours(1);
    await visitor.signIn('vera');
    const [path = ''] = (await visitor.visit('/work/held')).html
      .querySelectorAll('main td a')
      .map((one) => one.getAttribute('href') ?? '')
      .filter((href) => href.startsWith('/work/held/'));
    expect((await visitor.visit(path)).html.querySelectorAll('main form')).toEqual([]);
    const otto = createVisitor(consoleUrl);
    await otto.signIn('otto');
    const assigned = await otto.press(await otto.visit(path), 'Assign all of the day to it');
    expect(assigned.path).toBe(`/work/contracts/${hasty.contractId}`);
    expect(rowsOf(assigned.text, `${day} |`)).not.toEqual([]);
  });
});

describe('the pages of budgets', () => {
  it('say what would stand there before a budget was read', async () => {
    const { consoleUrl } = await openJourney(sqlite);
    const visitor = createVisitor(consoleUrl);
    await visitor.signIn('vera');
    expect((await visitor.visit('/budgets')).text).toContain('No such budget.');
    expect((await visitor.visit('/budgets/none')).status).toBe(404);
    expect((await visitor.visit('/budgets?state=none')).status).toBe(400);
  });

  it('have what is used by day, when it is used up, and the work that waits', async () => {
    const { tool, day, steady, hasty, passHours, visitor, rowsOf, storage } = await openWork();
    tool.work(day, steady.trainerId, 10);
    tool.work(day, hasty.trainerId, 30);
    await passHours(1);
    const used = () => storage.database.kysely.selectFrom('budget').select('consumedFraction').execute();
    await until('both budgets are known', used, (rows) => {
      const fractions = rows.map(({ consumedFraction }) => consumedFraction).sort();
      return fractions.join() === '0,0.1';
    });
    await visitor.signIn('vera');
    const budgets = await visitor.visit('/budgets');
    const [row = ''] = rowsOf(budgets.text, '| 10 %');
    // Ten hours in a week, and ninety are left.
    expect(row).toMatch(/ \| acme \| ok \| 10 % \| 100 \| 90 \| 10 h \| \d{4}-\d\d-\d\d .*\|$/);
    expect(rowsOf(budgets.text, '| 0 %')).toEqual([expect.stringMatching(/\| 0 min \| \| 1$/)]);
    const link = budgets.html
      .querySelectorAll('td a')
      .find((one) => one.getAttribute('href')?.includes(steady.contractId));
    const budget = await visitor.visit(link?.getAttribute('href') ?? '');
    expect(rowsOf(budget.text, `${day} |`)).toEqual([`${day} | 10 h`]);
    expect(budget.html.querySelectorAll('svg[role=img] rect.bar')).toHaveLength(1);
  });
});
