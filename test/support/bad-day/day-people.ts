import type { DayBridge } from './day-bridge.ts';
import type { Cause, DayLog } from './day-log.ts';
import type { DayMarket } from './day-market.ts';

/** What the customer does all day, by chance and always the same by the same chance. */
export interface DayPeople {
  jobsByProject: ReadonlyMap<string, string>;
  /** Jobs, each with a project, and so many people hired on each. */
  begin(peoplePerJob: number): void;
  /** One of many things that people do. */
  happen(): Promise<void>;
  /** A trainer takes over the contract of another. No event reports it. */
  replace(): void;
}

interface Hired {
  contractId: string;
  jobId: string;
  trainerId: string;
  isTakenOver: boolean;
}

export interface DayPeopleDeps {
  market: DayMarket;
  dayLog: DayLog;
  random(): number;
  bridge(): DayBridge;
}

const projects = ['signs', 'lanes', 'masks'];

export function createDayPeople({ market, dayLog, random, bridge }: DayPeopleDeps): DayPeople {
  const jobs: string[] = [];
  const jobsByProject = new Map<string, string>();
  const hired: Hired[] = [];
  let known = 0;

  const pick = <T>(list: readonly T[]): T => {
    const picked = list[Math.floor(random() * list.length)];
    if (picked === undefined) throw new Error('there is nothing to choose from');
    return picked;
  };

  function tell(cause: Cause): void {
    const wanted = new Map<string, Cause>();
    for (const [project, jobId] of jobsByProject) {
      const onJob = hired.filter((contract) => contract.jobId === jobId);
      // The bridge may not know yet of a trainer who took over a contract, and so not at a new link either.
      for (const one of onJob.sort((a, b) => Number(b.isTakenOver) - Number(a.isTakenOver))) {
        wanted.set(`${project}/${one.trainerId}`, one.isTakenOver ? 'replaced' : cause);
      }
    }
    dayLog.belong(wanted, cause);
  }

  function newTrainer(): string {
    known += 1;
    return `u${String(known).padStart(3, '0')}`;
  }

  function hire(jobId: string, trainerId: string): void {
    hired.push({ contractId: market.hire(jobId, trainerId), jobId, trainerId, isTakenOver: false });
    tell('hired');
  }

  function end(): Hired {
    const leaving = pick(hired);
    market.end(leaving.contractId);
    hired.splice(hired.indexOf(leaving), 1);
    tell('ended');
    return leaving;
  }

  /** A project gets the people of another job: its link is removed, and another made. */
  async function repoint(): Promise<void> {
    const project = pick(projects);
    const jobId = pick(jobs);
    if (jobsByProject.get(project) === jobId) return;
    await bridge().unlink(project);
    await bridge().link(project, jobId);
    jobsByProject.set(project, jobId);
    tell('linked');
  }

  return {
    jobsByProject,
    begin(peoplePerJob) {
      for (const project of projects) {
        const jobId = market.createJob();
        jobs.push(jobId);
        jobsByProject.set(project, jobId);
        for (let n = 0; n < peoplePerJob; n += 1) hire(jobId, newTrainer());
      }
    },
    async happen() {
      const chance = random();
      if (chance < 0.4) hire(pick(jobs), newTrainer());
      // One who is on a contract already gets another.
      else if (chance < 0.5) hire(pick(jobs), pick(hired).trainerId);
      else if (chance < 0.85) end();
      // And one whose contract has ended gets another at once.
      else if (chance < 0.95) hire(pick(jobs), end().trainerId);
      else await repoint();
    },
    replace() {
      const contract = pick(hired);
      const joins = newTrainer();
      market.replace(contract.contractId, contract.trainerId, joins);
      contract.trainerId = joins;
      contract.isTakenOver = true;
      tell('replaced');
    },
  };
}
