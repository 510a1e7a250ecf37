import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Trouble } from '../../src/lib/troubles.ts';
import {
  actAs,
  assignExamples,
  type DoccanoUser,
  importExamples,
  labelAndConfirm,
  makeLabel,
  makeProject,
} from '../support/doccano-site.ts';
import { until } from '../support/until.ts';
import { type DoccanoServer, doccanoVersion, openDoccano } from './doccano-server.ts';
import { openToolFront } from './tool-front.ts';
import { openUsageStage, type Worker } from './usage-stage.ts';

/**
 * Work in a doccano that really runs, and the reports of it to the marketplace. doccano knows only how
 * much there is by now: a day has what it grew by until the last reading of that day. The steps follow
 * each other.
 */

const stage = await openUsageStage();
afterAll(() => stage.stop());
const front = await openToolFront();
afterAll(() => front.stop());
let server = await openDoccano(stage.clock.env);
afterAll(() => server?.stop());

describe.skipIf(server === null)(`work in doccano ${doccanoVersion}, day by day`, () => {
  const site = () => server as DoccanoServer;
  const { day, at, clock, sandbox, totals, holds } = stage;
  let admin: DoccanoUser;
  let project = 0;
  let label = 0;
  let examples: number[] = [];
  let [ada, ben] = [] as unknown as [Worker, Worker];
  const logins = new Map<string, { username: string; password: string }>();

  /** Takes the next examples, labels and confirms them. */
  async function work({ trainerId }: Worker, count: number): Promise<number[]> {
    const login = logins.get(trainerId);
    if (login === undefined) throw new Error('the trainer has no login');
    const user = await actAs(site(), login);
    const taken = examples.splice(0, count);
    await assignExamples(admin, project, user.id, taken);
    for (const example of taken) await labelAndConfirm(user, project, example, label);
    return taken;
  }

  /** What `usage show` says of a trainer's contract, and `status` as well; null for nothing. */
  async function said({ contractId }: Worker, what: RegExp | null): Promise<void> {
    const shown = await stage.ask<{ differences: string[] }>('usage', 'show', contractId);
    expect(shown.differences).toEqual(what === null ? [] : [expect.stringMatching(what)]);
    const { troubles } = await stage.ask<{ troubles: Trouble[] }>('status');
    expect(troubles.filter(({ kind }) => kind === 'usage_gap' || kind === 'usage_fallen')).toHaveLength(
      what === null ? 0 : 1,
    );
  }

  const report = () => stage.ask<{ unread: { scope: string }[] }>('usage', 'report');

  beforeAll(async () => {
    front.leadTo(site().url);
    admin = await actAs(site(), site().admin);
    project = await makeProject(admin, 'signs');
    label = await makeLabel(admin, project, 'good');
    const texts = Array.from({ length: 20 }, (_, index) => `sign ${index}`);
    examples = await importExamples(admin, project, texts);
    const jobId = await stage.openJob(String(project));
    await stage.start({
      tool: { adapter: 'doccano', url: front.url, ...site().admin },
      links: { [project]: { timeZone: 'Asia/Kolkata' } },
    });
    ada = stage.hire(jobId, 'ada');
    ben = stage.hire(jobId, 'ben');
    for (const [trainerId, login] of await stage.letIn(ada, ben)) logins.set(trainerId, login);
  });

  it('counts on the day of the reading, once for all readings of a day', async () => {
    await work(ada, 2);
    await work(ben, 1);
    await stage.pass(at(0, '14:05'));
    await holds(ada, { [day(0)]: '0/2/2' });
    await holds(ben, { [day(0)]: '0/1/1' });
    await work(ada, 1);
    await stage.pass(at(0, '18:05'));
    await holds(ada, { [day(0)]: '0/3/3' });
    expect(totals(ben)).toEqual({ [day(0)]: '0/1/1' });
  });

  it("counts what comes after midnight in the project's zone on the next day", async () => {
    // Midnight in Kolkata is at 18:30.
    clock.moveTo(at(0, '18:40'));
    await work(ada, 1);
    await report();
    expect(totals(ada)).toEqual({ [day(0)]: '0/3/3' });
    await stage.pass(at(1, '00:05'));
    await holds(ada, { [day(0)]: '0/3/3', [day(1)]: '0/1/1' });
    expect(totals(ben)).toEqual({ [day(0)]: '0/1/1' });
  });

  it('makes up for a reading at which doccano was down, and lowers nothing by it', async () => {
    await work(ada, 2);
    await site().kill();
    await stage.pass(at(2, '09:05'));
    const { status, unread } = await report();
    expect([status, unread.map(({ scope }) => scope)]).toEqual([1, [String(project)]]);
    const before = { [day(0)]: '0/3/3', [day(1)]: '0/1/1' };
    expect(totals(ada)).toEqual(before);

    server = await site().restart();
    front.leadTo(server.url);
    admin = await actAs(server, server.admin);
    await stage.pass(at(2, '10:05'));
    await holds(ada, { ...before, [day(2)]: '0/2/2' });
    expect(totals(ben)).toEqual({ [day(0)]: '0/1/1' });
  });

  it('says that doccano lists less than was counted while a confirmation is taken back', async () => {
    const taken = await work(ada, 1);
    await stage.pass(at(2, '11:05'));
    const worked = { [day(0)]: '0/3/3', [day(1)]: '0/1/1', [day(2)]: '0/3/3' };
    await holds(ada, worked);
    const toggle = async () => {
      const user = await actAs(site(), logins.get(ada.trainerId) ?? { username: '', password: '' });
      for (const example of taken) await user.ask('POST', `/projects/${project}/examples/${example}/states`, {});
    };
    await toggle();
    await stage.pass(at(2, '12:05'));
    await said(ada, /shows less work of .+ by 1 tasks/);
    expect(totals(ada)).toEqual(worked);
    await toggle();
    await stage.pass(at(2, '13:05'));
    await said(ada, null);
    expect(totals(ada)).toEqual(worked);
  });

  it('lowers no day that is over when an example is deleted with what was done on it', async () => {
    const [done = 0] = await work(ben, 1);
    await stage.pass(at(3, '11:05'));
    const worked = { [day(0)]: '0/1/1', [day(3)]: '0/1/1' };
    await holds(ben, worked);
    await admin.ask('DELETE', `/projects/${project}/examples/${done}`);
    await stage.pass(at(4, '14:05'));
    expect(await report()).toMatchObject({ status: 0, unread: [] });
    expect(totals(ben)).toEqual(worked);
    await said(ben, /shows less work of .+ by 1 tasks, 1 labels/);
  });

  it('is read before a trainer is removed; after that doccano counts no labels at all', async () => {
    await work(ben, 3);
    sandbox.endContract(ben.contractId);
    const rows = () => admin.ask<{ username: string }[]>('GET', `/projects/${project}/members`);
    const isOut = (seen: { username: string }[]) => seen.every((row) => row.username !== ben.email);
    await until('ben is out', rows, isOut);
    await work(ada, 1);
    await stage.pass(at(4, '15:05'));
    // One of the three makes up for the one that was deleted: doccano tells only how many there are.
    const all = { [day(0)]: '0/1/1', [day(3)]: '0/1/1', [day(4)]: '0/2/2' };
    await holds(ben, all);
    await holds(ada, { [day(0)]: '0/3/3', [day(1)]: '0/1/1', [day(2)]: '0/3/3', [day(4)]: '0/1/0' });
    await said(ada, /can be counted since .+: doccano counts no labels in a project/);
    await stage.pass(at(5, '16:05'));
    expect(await report()).toMatchObject({ status: 0, unread: [] });
    expect(totals(ben)).toEqual(all);
  });
});
