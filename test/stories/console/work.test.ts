import { describe, expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { inParts } from '../../../src/db/query.ts';
import { writeSetting } from '../../../src/db/setting-store.ts';
import { addDays } from '../../../src/lib/days.ts';
import { createApiClient } from '../../support/api-client.ts';
import { liveThrough } from '../../support/journey.ts';
import { until } from '../../support/until.ts';
import type { VisitedPage } from '../../support/visitor.ts';
import { createWorkingTool } from '../../support/working-tool.ts';
import { actsIn, openSignedIn, outcomeOf, signIn } from './signed-in.ts';

const hourMs = 3_600_000;

/** Two trainers work on contracts of their own; each hour their work is reported. */
async function openWork(name: 'otto' | 'vera' = 'vera') {
  const tool = createWorkingTool();
  const journey = await openSignedIn(name, { adapter: tool.adapter, piiConsent: true });
  const { sandbox, customer, clock, storage, quiet, log } = journey;
  const day = clock.now().toISOString().slice(0, 10);
  await customer.link('street-signs');
  const hire = () => {
    const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId });
    sandbox.fundMilestone(contractId, { volume: 100 });
    return { contractId, trainerId: trainers[0]?.opentrainUserId ?? '' };
  };
  const [steady, hasty] = [hire(), hire()];
  await quiet();
  const reports = () => log.lines().filter(({ msg }) => msg === 'Usage was reported').length;
  async function passHours(hours: number): Promise<void> {
    const before = reports();
    await liveThrough(storage, clock, hours * hourMs);
    await until('the work is reported', reports, (count) => count > before);
    await quiet();
  }
  const rowsOf = (text: string, with_: string) => text.split('\n').filter((line) => line.includes(with_));
  return { ...journey, tool, day, steady, hasty, passHours, rowsOf };
}

/** The links in the cells of a page's tables. */
function linksOf({ html }: VisitedPage): string[] {
  return html.querySelectorAll('main td a').map((one) => one.getAttribute('href') ?? '');
}

describe('the pages of work', () => {
  it('say what would stand there before work was read', async () => {
    const { visitor, home } = await openSignedIn('vera');
    expect(home.text).toContain('Nothing needs you.');
    const work = await visitor.visit('/work');
    // It may take long to make, and is not made again by itself.
    expect(work.html.querySelector('script[src*=live]')).toBeNull();
    expect(work.text).toContain('No work is known for these days.');
    expect(work.text).toContain('The marketplace has what is due.');
    expect((await visitor.visit('/work/held')).text).toContain('No work is held.');
    expect((await visitor.visit('/work/contracts/none')).status).toBe(404);
    expect((await visitor.visit('/work?all=none')).status).toBe(400);
  });

  it('have the sums and the days that differ, why, and what to do', async () => {
    const { tool, day, steady, hasty, passHours, visitor, rowsOf } = await openWork();
    tool.work(day, steady.trainerId, 8);
    tool.work(day, hasty.trainerId, 2);
    await passHours(1);
    expect((await visitor.visit('/')).text).not.toContain('work of acme');
    const agreed = await visitor.visit('/work');
    expect(rowsOf(agreed.text, 'acme |')).toEqual(['acme | 10 h | nothing | 10 h | 10 h | 2']);
    expect(agreed.text).toContain('The marketplace has what is due.');
    const all = await visitor.visit('/work?all=yes');
    expect(rowsOf(all.text, `${day} |`)).toHaveLength(2);

    tool.work(day, hasty.trainerId, 30);
    await passHours(1);
    const home = await visitor.visit('/');
    expect(home.text).toContain(
      `1 day of work of acme is held for your decision.\nOpen\n30 hours, the oldest of ${day}\n`,
    );
    const differing = await visitor.visit('/work');
    expect(rowsOf(differing.text, `${day} |`)).toEqual([
      expect.stringMatching(
        new RegExp(`\\| acme \\| ${hasty.contractId} \\| 30 h \\| \\S+.* \\| 2 h \\| held: more than 24 hours`),
      ),
    ]);
    expect(linksOf(differing)).toContain('/work/held');
    const path = (query: string) => visitor.visit(`/work?${query}`);
    expect((await path('install=none')).status).toBe(404);
    for (const query of [`contract=${steady.contractId}`, `to=${addDays(day, -1)}`]) {
      expect([query, rowsOf((await path(query)).text, `${day} |`)]).toEqual([query, []]);
    }
    expect(rowsOf((await path(`contract=${hasty.contractId}&from=${day}`)).text, `${day} |`)).toHaveLength(1);
    const later = await path(`from=${addDays(day, 1)}&to=${addDays(day, 9)}`);
    expect(later.html.querySelector('main .warn a')?.text).toBe(`Show all since ${day}`);
    const contract = await visitor.visit(`/work/contracts/${steady.contractId}`);
    expect(rowsOf(contract.text, `${day} |`)).toEqual([expect.stringMatching(/\| 8 h \| 8 h \| in .* \| answered$/)]);
    expect((await visitor.visit(`/work/contracts/${steady.contractId}?differs=yes`)).text).toContain('No such day.');
  });

  it('are downloaded as a file that no spreadsheet takes for formulas', async () => {
    const { tool, day, hasty, passHours, visitor, storage } = await openWork();
    tool.work(day, hasty.trainerId, 30);
    await passHours(1);
    const { kysely } = storage.database;
    await kysely.updateTable('usageHeld').set({ trainerId: '=2+5' }).execute();
    const link = (await visitor.visit('/work')).html
      .querySelectorAll('main a')
      .find(({ text }) => text === 'Export CSV');
    const file = await visitor.visit(link?.getAttribute('href') ?? '');
    expect(file.type).toMatch(/^text\/csv/);
    const [titles = '', row = ''] = file.body.split('\r\n');
    expect(titles).toMatch(
      /^day,install,contract,name,trainer,seconds seen,due,answered,tasks seen,.+,US\$ unpaid,reason,id$/,
    );
    expect(row).toMatch(
      new RegExp(`^${day},acme,${hasty.contractId},,'=2\\+5,108000,.*,held: more than 24 hours in one day,`),
    );
  });

  it('count no more days than can be awaited, and check them when they are asked to', async () => {
    const { passHours, visitor, rowsOf, storage, steady, tool, day } = await openWork();
    tool.work(day, steady.trainerId, 8);
    await passHours(1);
    const { kysely } = storage.database;
    const [known] = await kysely.selectFrom('usageLedger').selectAll().execute();
    const others = Array.from({ length: 5000 }, (_, n) => ({ ...known, trainerId: `was${n}`, reportId: `gw-${n}` }));
    const insert = (part: object[]) => kysely.insertInto('usageLedger').values(part as never);
    for (const part of inParts(others)) await insert(part).execute();
    const offer = await visitor.visit('/work');
    expect(offer.text).toContain('These are 5000 days of trainers or more.');
    expect(offer.text).not.toContain('acme |');
    expect((await visitor.visit(`/work?contract=${steady.contractId}`)).text).toContain('5000 days');
    const link = offer.html.querySelectorAll('main a').find(({ text }) => text === 'Start it');
    const started = await visitor.visit(link?.getAttribute('href') ?? '');
    const page = await outcomeOf(visitor, started);
    expect(rowsOf(page.text, 'acme |').slice(0, 1)).toEqual([expect.stringMatching(/\| 5001 \| 5000/)]);
    expect(rowsOf(page.text, `${day} |`)).toHaveLength(100);
    const next = page.html.querySelector('main a[rel=next]')?.getAttribute('href') ?? '';
    expect(rowsOf((await visitor.visit(next)).text, `${day} |`)).toHaveLength(100);
    const file = await visitor.visit(started.path.replace('/work?', '/work.csv?'));
    expect(file.body.split('\r\n').filter((line) => line.startsWith(day))).toHaveLength(5000);
    // Another span has an answer of its own.
    expect((await visitor.visit(`/work?from=${addDays(day, 1)}`)).text).toContain('No work is known for these days.');
  });

  it('let an operator discard held work, take that back, and accept what would be lowered, and keep who did', async () => {
    const journey = await openWork('otto');
    const { tool, day, steady, hasty, passHours, rowsOf } = journey;
    tool.work(day, steady.trainerId, 8);
    tool.work(day, hasty.trainerId, 30);
    await passHours(1);
    tool.work(day, steady.trainerId, 4);
    // Only a complete reading lowers anything, once a day.
    await passHours(24);
    // The first session has expired.
    const { visitor } = await signIn(journey, 'otto');
    const held = await visitor.visit('/work/held');
    expect(rowsOf(held.text, `${day} |`)).toEqual([
      expect.stringContaining('| 30 h | more than 24 hours in one day |'),
      expect.stringContaining('| 8 h | 4 h |'),
    ]);
    const after = await visitor.press(held, 'Discard it');
    expect(after.path).toBe('/work/held');
    expect(after.text).toContain('No work is held.');
    expect(rowsOf(after.text, 'discarded |')).toHaveLength(1);
    const back = await visitor.press(after, 'Take the decision back');
    expect(rowsOf(back.text, 'more than 24 hours')).toHaveLength(1);
    expect(rowsOf(back.text, 'discarded |')).toEqual([]);
    const contract = await visitor.visit(`/work/contracts/${steady.contractId}?install=acme`);
    const asked = await visitor.press(contract, 'Accept and report the lower counts');
    await outcomeOf(visitor, asked);
    const lowered = await visitor.visit(contract.path);
    expect(rowsOf(lowered.text, `${day} |`)).toEqual([expect.stringMatching(/\| 4 h \| 4 h \| in .* \| answered$/)]);
    expect(await actsIn(journey)).toMatchObject([
      { actor: 'otto', action: 'usage held' },
      { actor: 'otto', action: 'usage held' },
      { actor: 'otto', action: 'usage report --accept-lowered' },
    ]);
  });

  it('let an operator assign held work to the contract that it may be of, and say why where that is impossible', async () => {
    const { tool, day, hasty, passHours, visitor, rowsOf, consoleUrl } = await openWork();
    const before = addDays(day, -1);
    tool.work(day, hasty.trainerId, 30);
    tool.work(before, hasty.trainerId, 3);
    await passHours(1);
    expect((await visitor.visit('/work/held')).html.querySelectorAll('main form').length).toBe(0);
    const { visitor: otto } = await signIn({ consoleUrl }, 'otto');
    const { held } = await createApiClient(consoleUrl).ask('usageHeld');
    const [early, long] = (held as { id: string }[]).map(({ id }) => id);
    const assign = (work: string | undefined) =>
      otto.visit(`/do/usageAssign?work=${work}&contract=${hasty.contractId}&back=/work/contracts/${hasty.contractId}`);
    const assigned = await otto.press(await assign(early), 'Assign');
    expect(assigned.path).toBe(`/work/contracts/${hasty.contractId}`);
    expect(rowsOf(assigned.text, `${before} |`)).toEqual([
      expect.stringContaining('| 3 h | nothing | to be sent with the next report'),
      expect.stringContaining('| assigned'),
    ]);
    const refused = await otto.press(await assign(long), 'Assign');
    expect(refused).toMatchObject({ status: 409, text: expect.stringContaining('more than 24 hours in one day') });
  });

  it('let an operator send or dismiss what changed after its day was sent for the last time', async () => {
    const { tool, day, steady, passHours, visitor, rowsOf, storage, consoleUrl } = await openWork('otto');
    tool.work(day, steady.trainerId, 8);
    await passHours(1);
    const closedAt = new Date().toISOString();
    await storage.database.kysely.updateTable('usageLedger').set({ closedAt }).execute();
    await inTransaction(storage.database, (tx) => writeSetting(tx, 'usage_closed_before', '2100-01-01'));
    tool.work(day, steady.trainerId, 9);
    await passHours(1);
    const work = await visitor.visit('/work');
    expect(rowsOf(work.text, `${day} |`)).toEqual([expect.stringMatching(/\| send or dismiss it$/)]);
    const late = await visitor.visit('/work/held');
    expect(rowsOf(late.text, `${day} |`)).toEqual([expect.stringContaining('| 8 h | 9 h |')]);
    const dismissed = await visitor.press(late, 'Dismiss it');
    expect(dismissed.path).toBe('/work/held');
    expect(rowsOf(dismissed.text, `${day} |`)).toEqual([]);
    await visitor.press(await visitor.visit('/work'), 'Send it');
    await passHours(1);
    expect(rowsOf((await visitor.visit('/work')).text, `${day} |`)).toEqual([]);
    const { sums } = await createApiClient(consoleUrl).ask('usageCheck');
    expect(sums).toMatchObject([{ install: 'acme', differing: 0, answered: { seconds: 9 * 3600 } }]);
  });
});

describe('the pages of budgets', () => {
  it('say what would stand there before a budget was read', async () => {
    const { visitor } = await openSignedIn('vera');
    expect((await visitor.visit('/budgets')).text).toContain('No budgets match.');
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
    const budgets = await visitor.visit('/budgets');
    const [row = ''] = rowsOf(budgets.text, '| 10 %');
    // Ten hours in a week, and ninety are left.
    expect(row).toMatch(/ \| acme \| Ok \| 10 % \| 100 \| 90 \| 10 h \| \S.*\|/);
    expect(rowsOf(budgets.text, '| 0 %')).toEqual([expect.stringMatching(/\| 0 min \| \| 1$/)]);
    const link = budgets.html
      .querySelectorAll('td a')
      .find((one) => one.getAttribute('href')?.includes(steady.contractId));
    const budget = await visitor.visit(link?.getAttribute('href') ?? '');
    expect(rowsOf(budget.text, `${day} |`)).toEqual([`${day} | 10 h`]);
  });
});
