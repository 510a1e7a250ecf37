import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
import { listAnswered, sumDifferences, sumOf } from './ninety-days/agree.ts';
import { createNinetyDays } from './ninety-days/ninety-days.ts';
import { createPieceBook, type Piece, type PieceBook, sumPieces } from './ninety-days/piece-book.ts';
import { add, nothing, toText } from './ninety-days/share-out.ts';
import { type Stop, seed } from './ninety-days/stops.ts';
import { openUsageStage, type Worker } from './usage-stage.ts';

/**
 * Ninety days of work in a Label Studio that really runs. In between and in the end each day of each person is
 * compared: what Label Studio's own exports say, what Gangway has as due, and what the marketplace has. The days, the
 * pieces and the edits follow from a seed; the steps follow each other.
 */

const stage = await openUsageStage();
afterAll(() => stage.stop());
const server = await openLabelStudio({ env: stage.clock.env });
afterAll(() => server?.stop());

interface Project {
  id: number;
  tasks: number[];
  timeZone: string;
  jobId: string;
  book: PieceBook;
  /** The pieces of the latest export, and earlier ones that are not in it any more and were not deleted. */
  pieces: Map<string, Piece>;
}

/** What a person made, as they know it. */
interface Made {
  id: number;
  taskId: number;
  worker: Worker;
  project: Project;
  number: number;
  seconds: number;
  regions: number;
}

describe.runIf(server)(`ninety days in Label Studio ${server?.version}, seed ${seed}, from ${stage.day(0)}`, () => {
  const site = () => server as LabelStudioServer;
  const { at, clock, sandbox } = stage;
  const days = createNinetyDays<Project>(stage, () => [signs, lamps], {
    look: () => look(signs, lamps),
    async doSome(number) {
      for (const { worker, project } of atWork.values()) await doSome(worker, project, number);
    },
  });
  const { random, below, pick, first, hired, dismissed, expected, agree, live } = days;
  let signs: Project;
  let lamps: Project;
  const atWork = new Map<string, { worker: Worker; project: Project }>();
  const sessions = new Map<string, BrowserSession>();
  /** By the number of the account: a person who comes back has another. */
  const accounts = new Map<number, string>();
  const made: Made[] = [];

  const sessionOf = ({ trainerId }: Worker) => sessions.get(trainerId) as BrowserSession;

  async function openProject(title: string, count: number, timeZone: string): Promise<Project> {
    const { id, tasks } = await addProject(site(), title, count);
    const jobId = await stage.openJob(String(id));
    return { id, tasks, timeZone, jobId, book: createPieceBook(timeZone), pieces: new Map() };
  }

  function hire(name: string, project: Project, startDate?: string): Worker {
    const worker = days.hire(name, project, startDate);
    atWork.set(`${name} at ${project.id}`, { worker, project });
    return worker;
  }

  async function enter(...workers: Worker[]): Promise<void> {
    for (const [trainerId, login] of await stage.letIn(...workers)) {
      const { userId, session } = await workAs(site, login);
      accounts.set(userId, trainerId);
      sessions.set(trainerId, session);
    }
  }

  /** Ends the contract, and resolves when the account is deleted. */
  async function leave(name: string, project: Project): Promise<void> {
    const [key, one] = [`${name} at ${project.id}`, atWork.get(`${name} at ${project.id}`)];
    if (one === undefined) throw new Error(`${name} is not there`);
    atWork.delete(key);
    // Gangway reads before it removes.
    await look(project);
    sandbox.endContract(one.worker.contractId);
    const [account] = [...accounts].findLast(([, trainerId]) => trainerId === one.worker.trainerId) ?? [];
    await until(
      `${name} is out`,
      () => accountIds(site()),
      (seen) => !seen.includes(account ?? 0),
    );
    sessions.delete(one.worker.trainerId);
    // If they come back, it is with another account.
    forget(({ worker }) => worker === one.worker);
  }

  async function work(worker: Worker, project: Project, number: number): Promise<void> {
    const taskId = pick(project.tasks) ?? 0;
    const [seconds, count] = [10 + below(30_000) / 10, 1 + below(4)];
    const isSkipped = random() < 0.08;
    const result = isSkipped ? [] : toRegions(count);
    const body = { lead_time: seconds, result, ...(isSkipped && { was_cancelled: true }) };
    const id = await annotate(sessionOf(worker), taskId, body);
    if (!isSkipped) made.push({ id, taskId, worker, project, number, seconds, regions: count });
  }

  async function edit(piece: Made): Promise<void> {
    const seconds = piece.seconds + below(3) * (1 + below(900) / 10);
    const count = Math.max(1, piece.regions + below(4) - 1);
    const path = `/api/annotations/${piece.id}/`;
    const answer = await sessionOf(piece.worker).call('PATCH', path, { lead_time: seconds, result: toRegions(count) });
    expect(answer.status).toBe(200);
    Object.assign(piece, { seconds, regions: count });
  }

  async function drop(piece: Made): Promise<void> {
    const { status } = await sessionOf(piece.worker).call('DELETE', `/api/annotations/${piece.id}/`);
    expect(status).toBe(204);
    forget(({ id }) => id === piece.id);
  }

  function forget(isGone: (one: Made) => boolean): void {
    for (const one of made.filter(isGone)) made.splice(made.indexOf(one), 1);
  }

  /** What a person who is at work made so many days ago, on no day that two contracts shared. */
  function madeBy(worker: Worker, project: Project, number: number, [least, most]: [number, number]): Made | undefined {
    const isTheirs = (one: Made) => one.worker.trainerId === worker.trainerId && one.project === project;
    const isOfAge = (one: Made) => number - one.number >= least && number - one.number <= most;
    return pick(made.filter((one) => isTheirs(one) && isOfAge(one) && sessions.has(worker.trainerId)));
  }

  async function doSome(worker: Worker, project: Project, number: number): Promise<void> {
    const find = (least: number, most: number) => madeBy(worker, project, number, [least, most]);
    if (random() < 0.35) await work(worker, project, number);
    const recent = find(0, 13);
    if (recent !== undefined && random() < 0.12) await edit(recent);
    const old = find(14, 80);
    if (old !== undefined && random() < 0.04) await edit(old);
    const wrong = find(1, 60);
    // Before there are many days, the brake would hold it.
    if (wrong !== undefined && number > 12 && random() < 0.04) await drop(wrong);
  }

  /** Notes what Label Studio's own export says, just after Gangway has read. */
  async function look(...projects: Project[]): Promise<void> {
    for (const project of projects) {
      const tasks = await exportTasks(site(), project.id, '&download_all_tasks=true');
      const exported = tasks.flatMap((task) => task.annotations.map((one) => toPiece(task, one, accounts)));
      const taskIds = new Set(tasks.map(({ id }) => String(id)));
      project.book.note(exported, taskIds, clock.now().toISOString());
      keepLatest(project.pieces, exported, taskIds);
    }
  }

  beforeAll(async () => {
    signs = await openProject('Street signs', 40, 'America/St_Johns');
    lamps = await openProject('Street lamps', 24, 'Asia/Kolkata');
    await stage.start({
      tool: {
        adapter: 'label-studio',
        url: site().url,
        token: await site().personalToken(),
        onboarding: 'sign_up',
        offboarding: 'delete_user',
      },
      links: { [signs.id]: { timeZone: signs.timeZone }, [lamps.id]: { timeZone: lamps.timeZone } },
    });
    const begun = [hire('ada', signs), hire('ben', signs), hire('ben', lamps), hire('cleo', lamps)];
    await enter(...begun);
  });

  it('begin with two projects, and three people on four contracts', async () => {
    await live([0, 25], async () => undefined);
    await agree();
  });

  it('go on with a contract that follows another, a person who leaves, and one who comes back', async () => {
    await live([26, 49], async (stop) => {
      if (stop === first(27)) await succeed(stop);
      if (stop === first(34)) await leave('ada', signs);
      if (stop === first(41)) await startLater('ada', signs, stop);
    });
    await agree();
  });

  /** Ben's second contract begins half an hour after the first has ended. */
  async function succeed({ number, moments: [early = '', middle = ''] }: Stop): Promise<void> {
    const { worker } = atWork.get(`ben at ${signs.id}`) ?? {};
    if (worker === undefined) throw new Error('ben is not there');
    await work(worker, signs, number);
    const next = hire('ben', signs, at(number, middle));
    sandbox.endContract(worker.contractId);
    clock.moveTo(at(number, early));
    await work(next, signs, number);
    forgetLast();
    clock.moveTo(at(number, middle));
  }

  /** They are in before their contract begins, and do something. */
  async function startLater(name: string, project: Project, { number, moments: [early = '', middle = ''] }: Stop) {
    const worker = hire(name, project, at(number, middle));
    await enter(worker);
    clock.moveTo(at(number, early));
    await work(worker, project, number);
    forgetLast();
    clock.moveTo(at(number, middle));
  }

  /** What waits for an operator is not edited. */
  function forgetLast(): void {
    made.pop();
  }

  it('have tasks that are deleted, and decisions about all that waits', async () => {
    await live([50, 74], async (stop) => {
      if (stop === first(50)) await startLater('dora', lamps, stop);
      if (stop === first(55)) await dropTasks(stop);
      if (stop === first(60)) await decide();
      if (stop === first(66)) await leave('dora', lamps);
    });
    await agree();
  });

  async function dropTasks({ number }: Stop): Promise<void> {
    const { worker } = atWork.get(`cleo at ${lamps.id}`) ?? {};
    const of = (ages: [number, number]) => (worker && madeBy(worker, lamps, number, ages)?.taskId) ?? 0;
    const [recent, old] = [of([1, 10]), of([20, 50])];
    await site().api('DELETE', `/api/tasks/${recent}/`);
    await actOnTasks(site(), 'delete_tasks', lamps.id, [old]);
    lamps.tasks = lamps.tasks.filter((id) => id !== recent && id !== old);
    forget(({ taskId }) => taskId === recent || taskId === old);
  }

  async function decide(): Promise<void> {
    const checked = await agree();
    const held = checked.filter(({ why }) => why === 'held');
    const ofBen = held.find(({ trainerId }) => trainerId === 'usr-ben');
    const ofAda = held.find(({ trainerId }) => trainerId === 'usr-ada');
    const [benFirst] = [...hired.keys()].filter((one) => one.trainerId === 'usr-ben' && hired.get(one) === signs);
    if (ofBen === undefined || ofAda === undefined || benFirst === undefined) throw new Error('nothing waits');
    await days.decide(ofBen, benFirst.contractId);
    await days.decide(ofAda, null);
    const [sent, left] = checked.filter(({ why }) => why === 'late');
    if (sent === undefined || left === undefined) throw new Error('nothing is late');
    expect(await stage.run('usage', 'send', sent.id)).toMatchObject({ status: 0 });
    expect(await stage.run('usage', 'dismiss', left.id)).toMatchObject({ status: 0 });
    const key = `${left.contractId} ${left.trainerId} ${left.day}`;
    dismissed.set(key, toText(expected().due.get(key) ?? nothing));
  }

  it('agree with the exports to the end, person by person', async () => {
    await live([75, 89], async () => undefined);
    await stage.pass(at(92, '09:05'));
    await look(signs, lamps);
    const checked = await agree();
    const answered = listAnswered(sandbox);
    for (const trainerId of new Set(accounts.values())) {
      const exported = [signs, lamps].map(({ pieces, timeZone }) =>
        sumPieces(
          [...pieces.values()].filter((one) => one.trainerId === trainerId),
          timeZone,
        ),
      );
      const named = sumDifferences(checked, trainerId);
      const paid = sumOf(answered, trainerId);
      process.stdout.write(
        `${trainerId}: export ${exported.map(toText)}, paid ${toText(paid)}, named ${toText(named)}\n`,
      );
      expect(toText(add(paid, named))).toBe(toText(exported.reduce(add, nothing)));
    }
  });
});

/** What went with its task or its account stays as it was. */
function keepLatest(pieces: Map<string, Piece>, exported: readonly Piece[], taskIds: ReadonlySet<string>): void {
  const present = new Set(exported.map(({ id }) => id));
  const gone = [...pieces.values()].filter(({ id, taskId }) => !present.has(id) && taskIds.has(taskId));
  for (const { id } of gone) pieces.delete(id);
  for (const one of exported) if (one.trainerId !== null) pieces.set(one.id, one);
}

function toRegions(count: number): object[] {
  return regions(...Array.from({ length: count }, (_, index) => `r${index}`));
}

function toPiece(
  task: ExportedTask,
  one: ExportedTask['annotations'][number],
  accounts: ReadonlyMap<number, string>,
): Piece {
  const { completed_by: account, was_cancelled: isSkipped, result } = one;
  return {
    id: String(one.id),
    trainerId: account === null ? null : (accounts.get(account) ?? null),
    taskId: String(task.id),
    doneAt: new Date(one.created_at).toISOString(),
    changedAt: new Date(one.updated_at).toISOString(),
    seconds: Math.round(one.lead_time),
    labels: isSkipped ? 0 : new Set(result.map(({ id }) => id)).size,
    isSkipped,
  };
}
