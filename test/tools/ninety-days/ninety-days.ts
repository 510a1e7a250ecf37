import { expect } from 'vitest';
import { createRandom } from '../../support/random.ts';
import type { UsageStage, Worker } from '../usage-stage.ts';
import { askCheck, type CheckedDay, type Expected, findDisagreements, listAnswered, listTerms } from './agree.ts';
import { type Decision, type Moment, shareOut } from './share-out.ts';
import { listStops, type Stop, seed } from './stops.ts';

/** What Gangway has read of a project, worked out anew. */
interface Project {
  timeZone: string;
  jobId: string;
  book: { moments(): Moment[]; late?: ReadonlySet<string> };
}

/** What the ninety days in each tool have in common. */
export function createNinetyDays<Of extends Project>(
  stage: UsageStage,
  projects: () => Of[],
  steps: {
    /** Notes what the tool says, just after Gangway has read it. */
    look(): void | Promise<void>;
    /** Everyone who is at work does something, or nothing. */
    doSome(number: number): Promise<void>;
  },
) {
  const { at, clock, sandbox } = stage;
  const random = createRandom(seed);
  const below = (count: number) => Math.floor(random() * count);
  const stops = listStops();
  /** All that were ever hired, and where. */
  const hired = new Map<Worker, Of>();
  const decisions: Decision[] = [];
  const dismissed = new Map<string, string>();
  const now = () => clock.now().toISOString();

  /** What is due by the tool, and by what was decided. */
  function expected(): Expected {
    const parts = projects().map((project) => {
      const workers = [...hired].flatMap(([worker, where]) => (where === project ? [worker] : []));
      return shareOut(project.book.moments(), listTerms(sandbox, workers), project.timeZone, decisions);
    });
    return {
      due: new Map(parts.flatMap(({ due }) => [...due])),
      waiting: parts.flatMap(({ waiting }) => waiting),
      late: new Set(projects().flatMap(({ book }) => [...(book.late ?? [])])),
      dismissed,
      today: now().slice(0, 10),
    };
  }

  return {
    random,
    below,
    pick: <T>(some: readonly T[]): T | undefined => some[below(some.length)],
    stops,
    first: (day: number) => stops.find(({ number }) => number >= day),
    hired,
    dismissed,
    now,
    expected,

    /** @param startDate now by default */
    hire(name: string, project: Of, startDate?: string): Worker {
      const worker = stage.hire(project.jobId, name, startDate);
      hired.set(worker, project);
      return worker;
    },

    async agree(): Promise<CheckedDay[]> {
      const checked = await askCheck(stage);
      expect(findDisagreements(expected(), listAnswered(sandbox), checked)).toEqual([]);
      return checked;
    },

    /** Each stop of these days: Gangway reads and reports, and people work for an hour. */
    async live(days: [number, number], special: (stop: Stop) => Promise<unknown>): Promise<void> {
      for (const stop of stops.filter(({ number }) => number >= days[0] && number <= days[1])) {
        await stage.pass(at(stop.number, stop.at));
        await steps.look();
        await special(stop);
        for (const moment of stop.moments.filter((one) => at(stop.number, one) > now())) {
          clock.moveTo(at(stop.number, moment));
          await steps.doSome(stop.number);
        }
      }
    },

    /** Assigns held work to a contract, or discards it. */
    async decide({ id, trainerId, day }: CheckedDay, contractId: string | null): Promise<void> {
      const command = contractId === null ? ['discard', id] : ['assign', id, contractId];
      expect(await stage.run('usage', ...command)).toMatchObject({ status: 0 });
      decisions.push({ trainerId, day, contractId });
    },
  };
}
