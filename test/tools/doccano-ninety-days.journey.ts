import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  actAs,
  addRow,
  createUser,
  type DoccanoLogin,
  type DoccanoUser,
  importExamples,
  makeLabel,
  makeProject,
  rowsOf,
} from '../support/doccano-site.ts';
import { until } from '../support/until.ts';
import { type DoccanoServer, doccanoVersion, openDoccano } from './doccano-server.ts';
import { type CheckedDay, listAnswered, sumDifferences, sumOf } from './ninety-days/agree.ts';
import { type DoccanoExports, openExports, toQueueEnv } from './ninety-days/doccano-export.ts';
import { createNinetyDays } from './ninety-days/ninety-days.ts';
import { add, nothing, type Sums, toText } from './ninety-days/share-out.ts';
import { type Stop, seed } from './ninety-days/stops.ts';
import { createTotalBook, type TotalBook } from './ninety-days/total-book.ts';
import { openUsageStage } from './usage-stage.ts';

/**
 * Ninety days of work in a doccano that really runs. In between and in the end each day of each person is compared:
 * what doccano counts and exports, what Gangway has as due, and what the marketplace has. The days and the work follow
 * from a seed; the steps follow each other.
 */

const stage = await openUsageStage();
afterAll(() => stage.stop());
const queueFolder = mkdtempSync(path.join(tmpdir(), 'gangway-exports-'));
afterAll(() => rmSync(queueFolder, { recursive: true, force: true }));
const env = { ...stage.clock.env, ...toQueueEnv(queueFolder) };
const server = await openDoccano(env);
afterAll(() => server?.stop());

interface Project {
  id: number;
  timeZone: string;
  jobId: string;
  labels: number[];
  examples: number[];
  book: TotalBook;
}

/** What one person has done on one example, as doccano answered. */
interface Done {
  example: number;
  isConfirmed: boolean;
  /** The ids of the labels that they gave it. */
  labels: number[];
}

/** A person in a project. */
interface Member {
  trainerId: string;
  project: Project;
  user: DoccanoUser;
  done: Done[];
  isIn: boolean;
  /** What they had done before they were hired. */
  before: Sums;
}

describe.skipIf(server === null)(`ninety days in doccano ${doccanoVersion}, seed ${seed}, from ${stage.day(0)}`, () => {
  const site = () => server as DoccanoServer;
  const { at, clock, sandbox } = stage;
  const { random, below, pick, stops, first, hired, now, hire, live, ...days } = createNinetyDays<Project>(
    stage,
    () => [signs, lamps],
    {
      look,
      async doSome(number) {
        for (const member of members.values()) if (member.isIn) await doSome(member, number);
      },
    },
  );
  let admin: DoccanoUser;
  let exports: DoccanoExports | undefined;
  let signs: Project;
  let lamps: Project;
  const members = new Map<string, Member>();

  afterAll(() => exports?.stop());

  const memberOf = (name: string) => members.get(`usr-${name}`) as Member;

  async function openProject(title: string, timeZone: string): Promise<Project> {
    const id = await makeProject(admin, title);
    const labels: number[] = [];
    for (const text of ['good', 'worn', 'bent']) labels.push(await makeLabel(admin, id, text));
    const texts = Array.from({ length: 60 }, (_, index) => `${title} ${index}`);
    const examples = await importExamples(admin, id, texts);
    const jobId = await stage.openJob(String(id));
    return { id, timeZone, jobId, labels, examples, book: createTotalBook(timeZone) };
  }

  /** Hires people, who get an account, and resolves when they are in. */
  async function enter(project: Project, ...names: string[]): Promise<void> {
    const workers = names.map((name) => hire(name, project));
    for (const [trainerId, login] of await stage.letIn(...workers)) await meet(trainerId, project, login);
  }

  async function meet(trainerId: string, project: Project, login: DoccanoLogin): Promise<Member> {
    const user = await actAs(site(), login);
    const member = { trainerId, project, user, done: [], isIn: true, before: nothing };
    members.set(trainerId, member);
    return member;
  }

  /** Someone with an account of their own, who has done something before they are hired. */
  async function comeAlone(name: string, project: Project, count: number): Promise<Member> {
    const login = { username: `${name}@opentrain.work`, password: 'lantern-Ox3-marble' };
    await createUser(admin, login);
    const member = await meet(`usr-${name}`, project, login);
    expect((await addRow(admin, project.id, member.user.id)).status).toBeLessThan(300);
    for (let index = 0; index < count; index += 1) await work(member);
    return member;
  }

  /** Until Gangway knows the member as theirs, and, with `usage report`, has read how much they had done. */
  async function welcome(...names: string[]): Promise<void> {
    const ask = () => stage.ask<{ items: { trainerId: string; state: string }[] }>('members');
    await until(`${names} are in`, ask, ({ items: seen }) =>
      names.every((name) => seen.some((one) => one.trainerId === `usr-${name}` && one.state === 'active')),
    );
    await report();
  }

  async function report(): Promise<void> {
    expect(await stage.ask('usage', 'report')).toMatchObject({ unread: [] });
    look();
  }

  async function leave(name: string): Promise<void> {
    const member = memberOf(name);
    // Gangway reads before it removes.
    look();
    const [worker] = [...hired.keys()].filter((one) => one.trainerId === member.trainerId).slice(-1);
    sandbox.endContract(worker?.contractId ?? '');
    const rows = () => rowsOf(admin, member.project.id);
    await until(`${name} is out`, rows, (seen) => seen.every(({ user }) => user !== member.user.id));
    member.isIn = false;
  }

  async function work({ user, project, done }: Member): Promise<void> {
    const left = project.examples.filter((id) => !done.some(({ example }) => example === id));
    const example = pick(left);
    if (example === undefined) return;
    const one: Done = { example, isConfirmed: false, labels: [] };
    done.push(one);
    for (const label of project.labels.slice(below(3))) await addLabel({ user, project }, one, label);
    await toggle({ user, project }, one);
  }

  async function addLabel({ user, project }: Pick<Member, 'user' | 'project'>, one: Done, label: number) {
    const path = `/projects/${project.id}/examples/${one.example}/categories`;
    one.labels.push((await user.ask<{ id: number }>('POST', path, { label })).id);
  }

  async function toggle({ user, project }: Pick<Member, 'user' | 'project'>, one: Done): Promise<void> {
    await user.ask('POST', `/projects/${project.id}/examples/${one.example}/states`, {});
    one.isConfirmed = !one.isConfirmed;
  }

  /** Takes a label away, or a confirmation back: the totals become less. */
  async function undo({ user, project, done }: Member): Promise<void> {
    const one = pick(done.filter(({ isConfirmed }) => isConfirmed));
    if (one === undefined) return;
    const label = random() < 0.5 ? undefined : one.labels.pop();
    if (label === undefined) return await toggle({ user, project }, one);
    await user.ask('DELETE', `/projects/${project.id}/examples/${one.example}/categories/${label}`);
  }

  /** With all that was done on it. */
  async function deleteExample(project: Project): Promise<void> {
    const of = (example: number) =>
      [...members.values()].filter(({ done }) => done.some((one) => one.example === example));
    const example = project.examples.find((id) => of(id).length > 1) ?? 0;
    await admin.ask('DELETE', `/projects/${project.id}/examples/${example}`);
    project.examples = project.examples.filter((id) => id !== example);
    for (const member of of(example)) member.done = member.done.filter((one) => one.example !== example);
  }

  async function doSome(member: Member, number: number): Promise<void> {
    if (random() < 0.3) await work(member);
    if (number > 5 && random() < 0.03) await undo(member);
  }

  /** The totals by what doccano has answered, as Gangway has just read them. */
  function look(): void {
    const isOut = (project: Project) =>
      [...members.values()].some((one) => one.project === project && !one.isIn && totalOf(one).labels > 0);
    for (const member of members.values()) {
      const { tasks, labels } = totalOf(member);
      // It counts no labels of anyone while someone who gave some is no member.
      const total = { tasks, labels: isOut(member.project) ? null : labels };
      if (isHired(member)) member.project.book.note(member.trainerId, total, now());
    }
  }

  const isHired = ({ trainerId }: Member) => [...hired.keys()].some((one) => one.trainerId === trainerId);

  function totalOf({ done }: Member): { tasks: number; labels: number } {
    const labels = done.reduce((sum, one) => sum + one.labels.length, 0);
    return { tasks: done.filter(({ isConfirmed }) => isConfirmed).length, labels };
  }

  async function agree(): Promise<CheckedDay[]> {
    for (const project of [signs, lamps]) await compareExport(project);
    return await days.agree();
  }

  /** That what was noted is what doccano exports. */
  async function compareExport(project: Project): Promise<void> {
    const confirmed = await exports?.read(project.id, true);
    const all = await exports?.read(project.id, false);
    for (const member of members.values()) {
      if (member.project !== project || !member.isIn) continue;
      const tasks = confirmed?.get(member.user.username)?.length;
      const labels = all?.get(member.user.username)?.reduce((sum, some) => sum + some.length, 0);
      expect([member.trainerId, { tasks, labels }]).toEqual([member.trainerId, totalOf(member)]);
    }
  }

  /** So that what people do next is read alone. */
  async function settle({ number }: Stop): Promise<void> {
    await stage.pass(at(number + 1, '21:05'));
    look();
  }

  beforeAll(async () => {
    admin = await actAs(site(), site().admin);
    exports = await openExports(site(), admin, env);
    signs = await openProject('sign', 'Asia/Kolkata');
    lamps = await openProject('lamp', 'America/New_York');
    await comeAlone('gina', signs, 3);
    await comeAlone('hugo', signs, 2);
    await comeAlone('eve', lamps, 4);
    await stage.start({
      tool: { adapter: 'doccano', url: site().url, ...site().admin },
      links: { [signs.id]: { timeZone: signs.timeZone }, [lamps.id]: { timeZone: lamps.timeZone } },
    });
    for (const name of ['gina', 'hugo']) hire(name, signs);
    await enter(signs, 'ada', 'ben');
    await enter(lamps, 'cleo');
    for (const name of ['gina', 'hugo']) signs.book.begin(`usr-${name}`, totalOf(memberOf(name)), now());
    await welcome('gina', 'hugo');
  });

  it('begin with work from before, of two people who are hired and of one who is not', async () => {
    await live([1, 25], async (stop) => {
      if (stop === first(20)) await hireEve();
    });
    await settle(stops.findLast(({ number }) => number <= 25) as Stop);
    await agree();
  });

  /** She has worked there all along. */
  async function hireEve(): Promise<void> {
    hire('eve', lamps);
    lamps.book.begin('usr-eve', totalOf(memberOf('eve')), null);
    memberOf('eve').before = { seconds: 0, ...totalOf(memberOf('eve')) };
    await welcome('eve');
  }

  it('go on with a contract that follows another, a person who leaves, and one who comes back', async () => {
    await live([28, 49], async (stop) => {
      if (stop === first(28)) await succeed(stop);
      if (stop === first(34)) await leave('ada');
      if (stop === first(41)) await comeBack();
    });
    await agree();
  });

  /** Of a day on which two contracts ran, it is not known whose the work is. */
  async function succeed({ number, moments: [early = ''] }: Stop): Promise<void> {
    const [before] = [...hired.keys()].filter(({ trainerId }) => trainerId === 'usr-ben');
    hire('ben', signs, at(number, early));
    clock.moveTo(at(number, early));
    sandbox.endContract(before?.contractId ?? '');
    await work(memberOf('ben'));
    await report();
  }

  async function comeBack(): Promise<void> {
    hire('ada', signs);
    await until(
      'ada is in',
      () => rowsOf(admin, signs.id),
      (rows) => rows.some(({ user }) => user === memberOf('ada').user.id),
    );
    memberOf('ada').isIn = true;
    await report();
  }

  it('have examples that are deleted, and decisions about what waits', async () => {
    await live([50, 74], async (stop) => {
      if (stop === first(50)) await enter(lamps, 'dora').then(report);
      if (stop === first(55)) await deleteExample(signs);
      if (stop === first(60)) await decide();
      if (stop === first(66)) await leave('dora');
    });
    await agree();
  });

  async function decide(): Promise<void> {
    const checked = await agree();
    const heldOf = (name: string) =>
      checked.find(({ why, trainerId }) => why === 'held' && trainerId === `usr-${name}`);
    const [ofBen, ofHugo] = [heldOf('ben'), heldOf('hugo')];
    const [before] = [...hired.keys()].filter(({ trainerId }) => trainerId === 'usr-ben');
    if (ofBen === undefined || ofHugo === undefined || before === undefined) throw new Error('nothing waits');
    await days.decide(ofBen, before.contractId);
    await days.decide(ofHugo, null);
  }

  it('agree with the export to the end, person by person', async () => {
    await live([75, 89], async () => undefined);
    await stage.pass(at(91, '09:05'));
    look();
    await undo(memberOf('ben'));
    await undo(memberOf('hugo'));
    await stage.pass(at(92, '09:05'));
    look();
    const checked = await agree();
    const answered = listAnswered(sandbox);
    for (const member of members.values()) {
      const { trainerId, before } = member;
      const [paid, named] = [sumOf(answered, trainerId), sumDifferences(checked, trainerId)];
      const { less, isGap } = await askGaps(member);
      const { tasks, labels } = totalOf(member);
      const counted = [paid, named, before].reduce(add, less);
      const uncounted = isGap ? labels - counted.labels : 0;
      const says = `paid ${toText(paid)}, named ${toText(named)}, from before ${toText(before)}, fallen ${toText(less)}`;
      process.stdout.write(`${trainerId}: export 0/${tasks}/${labels}; ${says}, uncounted ${uncounted}\n`);
      expect([trainerId, counted.tasks, counted.labels + uncounted]).toEqual([trainerId, tasks, labels]);
    }
  });

  /** What `gangway usage show` says of a person's latest contract: why the export has more or less than is counted. */
  async function askGaps({ trainerId }: Member): Promise<{ less: Sums; isGap: boolean }> {
    const { contractId = '' } = [...hired.keys()].findLast((one) => one.trainerId === trainerId) ?? {};
    const { gaps, fallen } = await stage.ask<Shown>('usage', 'show', contractId);
    const { tasks, labels } = fallen[0]?.fallen ?? nothing;
    return {
      less: { seconds: 0, tasks: -(tasks ?? 0), labels: -(labels ?? 0) },
      isGap: gaps.some(({ says }) => says.includes('counts no labels')),
    };
  }
});

interface Shown {
  gaps: { says: string }[];
  fallen: { fallen: Record<'tasks' | 'labels', number | null> }[];
}
