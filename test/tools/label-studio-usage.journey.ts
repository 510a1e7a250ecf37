import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Trouble } from '../../src/lib/troubles.ts';
import {
  accountIds,
  actOnTasks,
  addProject,
  annotate,
  type ExportedTask,
  exportTasks,
  regions,
  workAs,
} from '../support/label-studio/at-work.ts';
import type { BrowserSession } from '../support/label-studio/label-studio-client.ts';
import { until } from '../support/until.ts';
import { type LabelStudioServer, openLabelStudio } from './label-studio-server.ts';
import { openToolFront } from './tool-front.ts';
import { openUsageStage, type Worker } from './usage-stage.ts';

/**
 * Days of work in a Label Studio that really runs, and the reports of them to the marketplace. Bridge,
 * command line, marketplace and Label Studio go by one clock; the steps follow each other.
 */

const stage = await openUsageStage();
afterAll(() => stage.stop());
const front = await openToolFront();
afterAll(() => front.stop());
let server = await openLabelStudio({ env: stage.clock.env });
afterAll(() => server?.stop());

describe.skipIf(server === null)(`work in Label Studio ${server?.version}, day by day`, () => {
  const site = () => server as LabelStudioServer;
  const { day, at, clock, sandbox, totals, holds } = stage;
  let signs: { id: number; tasks: number[] };
  let lamps: { id: number; tasks: number[] };
  let signsJob = '';
  let [ada, benAtSigns, benAtLamps, cleo] = [] as unknown as [Worker, Worker, Worker, Worker];
  const allWorkers = () => [ada, benAtSigns, benAtLamps, cleo];
  const people = new Map<string, Awaited<ReturnType<typeof workAs>>>();
  const made = new Map<string, number>();

  /** The work of a trainer, under a name by which it is changed later. */
  async function work(
    { trainerId }: Worker,
    name: string,
    task: number | undefined,
    body: { lead_time: number; result: object[]; was_cancelled?: boolean },
  ): Promise<void> {
    made.set(name, await annotate(sessionOf(trainerId), task ?? 0, body));
  }

  const idOf = ({ trainerId }: Worker) => people.get(trainerId)?.userId ?? 0;
  const sessionOf = (trainerId: string) => people.get(trainerId)?.session as BrowserSession;

  async function drop({ trainerId }: Worker, ...names: string[]): Promise<void> {
    for (const name of names) {
      const path = `/api/annotations/${made.get(name)}/`;
      const { status } = await sessionOf(trainerId).call('DELETE', path);
      expect(status).toBe(204);
    }
  }

  /** All that Label Studio has of a trainer in a project, by its export. */
  async function exported(worker: Worker, project: { id: number }): Promise<string> {
    return sumUp(await exportOf(project), worker);
  }

  const exportOf = ({ id }: { id: number }) => exportTasks(site(), id);

  function sumUp(tasks: ExportedTask[], worker: Worker): string {
    const theirs = tasks.map(({ annotations }) => annotations.filter((one) => one.completed_by === idOf(worker)));
    const all = theirs.flat();
    const kept = all.filter((one) => !one.was_cancelled);
    const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0);
    const seconds = sum(all.map((one) => Math.round(one.lead_time)));
    const regionsIn = kept.map(({ result }) => new Set(result.map(({ id }) => id)).size);
    const done = theirs.filter((some) => some.some((one) => !one.was_cancelled));
    return `${seconds}/${done.length}/${sum(regionsIn)}`;
  }

  const sumOf = (worker: Worker) => {
    const days = Object.values(totals(worker)).map((text) => text.split('/').map(Number));
    return [0, 1, 2].map((n) => days.reduce((sum, one) => sum + (one[n] ?? 0), 0)).join('/');
  };

  const report = (...options: string[]) => stage.ask<Reported>('usage', 'report', ...options);

  beforeAll(async () => {
    front.leadTo(site().url);
    // More than Label Studio gives at once: a reading of it has two parts.
    signs = await addProject(site(), 'Street signs', 120);
    lamps = await addProject(site(), 'Street lamps', 10);
    signsJob = await stage.openJob(String(signs.id));
    const lampsJob = await stage.openJob(String(lamps.id));
    await stage.start({
      tool: {
        adapter: 'label-studio',
        url: front.url,
        token: await site().personalToken(),
        onboarding: 'sign_up',
        offboarding: 'delete_user',
      },
      links: { [lamps.id]: { timeZone: 'Asia/Kolkata' } },
    });
    ada = stage.hire(signsJob, 'ada');
    benAtSigns = stage.hire(signsJob, 'ben');
    benAtLamps = stage.hire(lampsJob, 'ben');
    cleo = stage.hire(lampsJob, 'cleo');
    await enter(ada, benAtSigns, cleo);
  });

  async function enter(...workers: Worker[]): Promise<void> {
    for (const [trainerId, login] of await stage.letIn(...workers)) {
      people.set(trainerId, await workAs(site, login));
    }
  }

  it('is reported when the schedule says so, as much as the tool has', async () => {
    const { tasks } = signs;
    await work(ada, 'a0', tasks[0], { lead_time: 30, result: regions('a', 'b') });
    await work(ada, 'a1', tasks[1], { lead_time: 12.4, result: regions('a') });
    await work(ada, 'a2', tasks[2], { lead_time: 60, result: regions('a', 'b', 'c') });
    await work(benAtSigns, 'b0', tasks[110], { lead_time: 8, result: regions('a') });
    await work(benAtSigns, 'b1', tasks[111], { lead_time: 20, result: regions('a', 'b') });
    await work(benAtLamps, 'b2', lamps.tasks[0], { lead_time: 15, result: regions('a') });
    await work(cleo, 'c1', lamps.tasks[1], { lead_time: 40, result: regions('a', 'b', 'c', 'd') });
    const skipped = { lead_time: 5, result: [], was_cancelled: true };
    await work(cleo, 'c2', lamps.tasks[2], skipped);
    expect(totals(ada)).toEqual({});

    await stage.pass(at(0, '14:05'));
    await holds(ada, { [day(0)]: '102/3/6' });
    await holds(benAtSigns, { [day(0)]: '28/2/3' });
    await holds(benAtLamps, { [day(0)]: '15/1/1' });
    await holds(cleo, { [day(0)]: '45/1/4' });
    const ours = allWorkers().map(sumOf);
    const [ofSigns, ofLamps] = [await exportOf(signs), await exportOf(lamps)];
    const theirs = [sumUp(ofSigns, ada), sumUp(ofSigns, benAtSigns)];
    theirs.push(sumUp(ofLamps, benAtLamps), sumUp(ofLamps, cleo));
    expect(ours).toEqual(theirs);
  });

  it('is not lowered for what is gone from it, by a reading of what has changed', async () => {
    clock.moveTo(at(0, '14:30'));
    await drop(benAtSigns, 'b1');
    await work(ada, 'a3', signs.tasks[3], { lead_time: 10, result: regions('a') });
    expect(await report()).toMatchObject({ status: 0, installs: [{ sent: 1, lowered: 0 }] });
    expect(totals(ada)).toEqual({ [day(0)]: '112/4/7' });
    expect(totals(benAtSigns)).toEqual({ [day(0)]: '28/2/3' });
  });

  it("counts in the days of its project's zone, and waits for those that have not begun in UTC", async () => {
    await stage.pass(at(0, '18:20'));
    await work(cleo, 'c3', lamps.tasks[3], { lead_time: 10, result: regions('a') });
    // Midnight in Kolkata is at 18:30.
    clock.moveTo(at(0, '18:40'));
    await work(cleo, 'c4', lamps.tasks[4], { lead_time: 20, result: regions('a', 'b') });
    await work(benAtLamps, 'b3', lamps.tasks[5], { lead_time: 7, result: regions('a') });
    await report();
    await holds(cleo, { [day(0)]: '55/2/5' });
    const { days } = await stage.ask<Shown>('usage', 'show', cleo.contractId);
    expect(days.map((one) => [one.day, toText(one.due), toText(one.sent)])).toEqual([
      [day(0), '55/2/5', '55/2/5'],
      [day(1), '20/1/2', null],
    ]);

    await stage.pass(at(1, '00:05'));
    await holds(cleo, { [day(0)]: '55/2/5', [day(1)]: '20/1/2' });
    await holds(benAtLamps, { [day(0)]: '15/1/1', [day(1)]: '7/1/1' });
  });

  it('is not lowered by a reading that Label Studio did not survive, and made up for later', async () => {
    await stage.pass(at(1, '08:05'));
    const edit = { lead_time: 41, result: regions('a', 'b', 'c') };
    const path = `/api/annotations/${made.get('a0')}/`;
    expect((await sessionOf(ada.trainerId).call('PATCH', path, edit)).status).toBe(200);
    await work(benAtSigns, 'b4', signs.tasks[112], { lead_time: 9, result: regions('a') });

    // It has listed what ada did, and not yet what ben did.
    const secondPart = front.holdNext(new RegExp(`/api/tasks/\\?project=${signs.id}&.*"value":${signs.tasks[99]}\\b`));
    const passed = stage.pass(at(1, '11:05'));
    const held = await secondPart;
    await site().kill();
    held.release();
    await passed;
    const { status, unread } = await report();
    expect([status, unread.map(({ scope }) => scope).sort()]).toEqual([1, scopesOf(signs, lamps)]);
    expect(totals(ada)).toEqual({ [day(0)]: '112/4/7' });
    expect(totals(benAtSigns)).toEqual({ [day(0)]: '28/2/3' });

    server = await site().restart({ env: clock.env });
    front.leadTo(server.url);
    await stage.pass(at(1, '12:05'));
    // The seconds of an edit count when it was made, its labels where they were.
    await holds(ada, { [day(0)]: '112/4/8', [day(1)]: '11/0/0' });
    // And a whole reading says what is gone.
    await holds(benAtSigns, { [day(0)]: '8/1/1', [day(1)]: '9/1/1' });
    expect([sumOf(ada), sumOf(benAtSigns)]).toEqual([await exported(ada, signs), await exported(benAtSigns, signs)]);
  });

  const lowered = [
    [() => cleo, 0],
    [() => cleo, 1],
    [() => benAtLamps, 0],
  ] as const;
  const before = {
    cleo: { [day(0)]: '55/2/5', [day(1)]: '20/1/2' },
    benAtLamps: { [day(0)]: '15/1/1', [day(1)]: '7/1/1' },
  };

  it('is not lowered by itself where much of it is gone at once', async () => {
    await drop(cleo, 'c1', 'c2', 'c3', 'c4');
    await drop(benAtLamps, 'b2');
    await stage.pass(at(2, '09:05'));
    await work(ada, 'a4', signs.tasks[4], { lead_time: 25, result: regions('a') });
    await stage.pass(at(2, '10:05'));
    await holds(ada, { [day(0)]: '112/4/8', [day(1)]: '11/0/0', [day(2)]: '25/1/1' });

    expect(await report()).toMatchObject({ status: 3, installs: [{ sent: 0, held: 3 }] });
    const { status, installs } = await stage.ask<Reported>('usage', 'preview');
    const held = installs.flatMap((one) => one.heldLowered ?? []);
    expect([status, held.map((one) => `${one.contractId} ${one.day}`).sort()]).toEqual([
      3,
      lowered.map(([worker, number]) => `${worker().contractId} ${day(number)}`).sort(),
    ]);
    expect(totals(cleo)).toEqual(before.cleo);
    expect(totals(benAtLamps)).toEqual(before.benAtLamps);
  });

  it('is still held when other days have made it a smaller share, until an operator has looked', async () => {
    for (const number of [3, 4]) {
      await stage.pass(at(number, '09:30'));
      const [sign, lamp] = [signs.tasks.slice(number * 5), lamps.tasks.slice(number * 2)];
      const result = regions('a');
      await work(ada, `a of ${number}`, sign[0], { lead_time: 10 + number, result });
      await work(benAtSigns, `b of ${number}`, sign[1], { lead_time: 20 + number, result });
      await work(benAtLamps, `l of ${number}`, lamp[0], { lead_time: 30 + number, result });
      await work(cleo, `c of ${number}`, lamp[1], { lead_time: 40 + number, result });
      await stage.pass(at(number, '10:05'));
      const reported = allWorkers().filter((worker) => day(number) in totals(worker));
      expect(reported).toHaveLength(4);
    }
    const days = { [day(3)]: '43/1/1', [day(4)]: '44/1/1' };
    expect(await report()).toMatchObject({ status: 3, installs: [{ held: 3 }] });
    expect(totals(cleo)).toEqual({ ...before.cleo, ...days });
    expect(totals(benAtLamps)).toMatchObject(before.benAtLamps);

    const accepted = await report('--accept-lowered');
    expect(accepted).toMatchObject({ status: 0, installs: [{ sent: 3, lowered: 3, held: 0 }] });
    expect(totals(cleo)).toEqual({ [day(0)]: '0/0/0', [day(1)]: '0/0/0', ...days });
    expect(totals(benAtLamps)).toMatchObject({ [day(0)]: '0/0/0', [day(1)]: '7/1/1' });
    expect([sumOf(cleo), sumOf(benAtLamps)]).toEqual([await exported(cleo, lamps), await exported(benAtLamps, lamps)]);
  });

  it('is read before a trainer is removed, and stays when the account is deleted', async () => {
    // Before the schedule has it read again.
    clock.moveTo(at(4, '10:50'));
    const last = { lead_time: 33, result: regions('a', 'b') };
    await work(ada, 'last', signs.tasks[90], last);
    const inTheTool = await exported(ada, signs);
    sandbox.endContract(ada.contractId);
    await until('ada is out', accounts, (ids) => !ids.includes(idOf(ada)));
    await stage.pass(at(4, '14:05'));
    const all = { [day(0)]: '112/4/8', [day(1)]: '11/0/0', [day(2)]: '25/1/1', [day(3)]: '13/1/1', [day(4)]: '47/2/3' };
    await holds(ada, all);
    expect(sumOf(ada)).toBe(inTheTool);

    // Label Studio does not know any more whose it was, and a whole reading says so.
    expect(await exported(ada, signs)).toBe('0/0/0');
    await stage.pass(at(5, '15:05'));
    expect(await report()).toMatchObject({ status: 0, unread: [] });
    expect(totals(ada)).toEqual(all);
  });

  it('comes to the same in the tool, in the ledger and at the marketplace', async () => {
    for (const worker of allWorkers()) {
      const { days, consumed } = await stage.ask<Shown>('usage', 'show', worker.contractId);
      const due = days.map((one) => [one.day, toText(one.due)]);
      expect(Object.fromEntries(due)).toEqual(totals(worker));
      expect(days.map((one) => [one.day, toText(one.sent)])).toEqual(due);
      expect(toText(consumed)).toBe(sumOf(worker));
    }
    expect(sumOf(benAtSigns)).toBe(await exported(benAtSigns, signs));
    expect(sumOf(cleo)).toBe(await exported(cleo, lamps));
    expect(await stage.ask('usage', 'held')).toMatchObject({ status: 0, held: [] });
  });

  it('stays reported where a task is deleted, and is lowered by what people delete', async () => {
    await stage.pass(at(6, '11:30'));
    const [benOfDay3 = 0, cleoOfDay3 = 0] = lamps.tasks.slice(6, 8);
    await site().api('DELETE', `/api/tasks/${cleoOfDay3}/`);
    await actOnTasks(site(), 'delete_tasks', lamps.id, [benOfDay3]);
    await drop(cleo, 'c of 4');
    // All annotations of a task at once, by the owner: the task stays.
    const [ofDay3 = 0] = signs.tasks.slice(3 * 5 + 1);
    await actOnTasks(site(), 'delete_tasks_annotations', signs.id, [ofDay3]);
    await stage.pass(at(7, '12:05'));
    const days = { [day(3)]: '43/1/1', [day(4)]: '0/0/0' };
    await holds(cleo, { [day(0)]: '0/0/0', [day(1)]: '0/0/0', ...days });
    await holds(benAtLamps, { [day(0)]: '0/0/0', [day(1)]: '7/1/1', [day(3)]: '33/1/1', [day(4)]: '34/1/1' });
    expect(totals(benAtSigns)).toMatchObject({ [day(3)]: '0/0/0', [day(4)]: '24/1/1' });
    expect(await exported(cleo, lamps)).toBe('0/0/0');

    const { lowerings } = await stage.ask<{ lowerings: Lowering[] }>('usage', 'held');
    const since = lowerings.filter((one) => one.since >= at(7, '00:00'));
    expect(since.map((one) => [one.contractId, one.day, one.state, toText(one.from)])).toEqual(
      expect.arrayContaining([
        [cleo.contractId, day(4), 'reported', '44/1/1'],
        [benAtSigns.contractId, day(3), 'reported', '23/1/1'],
      ]),
    );
    expect(since).toHaveLength(2);
  });

  it('of one project is read before a removal though another is gone, which is said', async () => {
    const dora = stage.hire(signsJob, 'dora');
    await enter(dora);
    await stage.pass(at(7, '13:05'));
    await site().api('DELETE', `/api/projects/${lamps.id}/`);
    await stage.pass(at(7, '14:05'));
    await work(dora, 'd', signs.tasks[80], { lead_time: 14, result: regions('a') });
    const endedAt = Date.now();
    sandbox.endContract(dora.contractId);
    await until('dora is out', accounts, (ids) => !ids.includes(idOf(dora)));
    const outAfterMs = Date.now() - endedAt;
    process.stdout.write(`out after ${outAfterMs} ms, with another project gone\n`);
    await stage.pass(at(7, '15:05'));
    await holds(dora, { [day(7)]: '14/1/1' });
    // What was paid of the project that is gone stays.
    expect(totals(cleo)).toMatchObject({ [day(3)]: '43/1/1' });

    const { troubles } = await stage.ask<{ troubles: Trouble[] }>('status');
    const gone = troubles.filter(({ kind }) => kind === 'usage_gone');
    expect(gone).toMatchObject([{ says: expect.stringContaining(`no project ${lamps.id}`) as string }]);
    const { links } = await stage.ask<{ links: ListedLink[] }>('links', 'list');
    expect(links.map(({ project, work: { state } }) => [project, state]).sort()).toEqual(
      [
        [String(signs.id), 'read'],
        [String(lamps.id), 'gone'],
      ].sort(),
    );
  });

  it('of a project that is gone keeps no trainer in for longer than five minutes', async () => {
    sandbox.endContract(cleo.contractId);
    const explained = async () => (await stage.run('explain', cleo.trainerId)).stdout;
    await until('it waits', explained, (said) => said.includes('to be removed'));
    await stage.pass(at(7, '16:05'));
    await until('cleo is out', accounts, (ids) => !ids.includes(idOf(cleo)));
  });

  const accounts = () => accountIds(site());
});

function scopesOf(...projects: { id: number }[]): string[] {
  return projects.map(({ id }) => String(id)).sort();
}

interface Reported {
  installs: { heldLowered?: { contractId: string; day: string }[] }[];
  unread: { scope: string }[];
}

interface Lowering {
  contractId: string;
  day: string;
  state: string;
  since: string;
  from: Counts;
}

interface ListedLink {
  project: string;
  work: { state: string };
}

type Counts = Record<'seconds' | 'tasks' | 'labels', number | null>;

interface Shown {
  days: { day: string; due: Counts | null; sent: Counts | null }[];
  consumed: Counts;
}

function toText(counts: Counts | null): string | null {
  return counts && `${counts.seconds}/${counts.tasks}/${counts.labels}`;
}
