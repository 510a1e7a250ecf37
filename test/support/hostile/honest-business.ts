import type { Site } from '../site.ts';
import { type HonestTrainer, honestProjects, honestTrainers, managed, managedProject } from './cast.ts';
import type { Guard } from './guard.ts';
import type { KnownPerson, WatchedTool } from './watched-tool.ts';

/** The honest customer: hires, ends and renews, and takes note of who is in when. */
export interface HonestBusiness {
  /** What it does in one step of the story. */
  step(number: number): void;
  hire(trainer: HonestTrainer, step: number): void;
  /** Looks who is in by now, and has them guarded from now on. */
  look(step: number): void;
  /** Every trainer who has a contract. */
  hired(): KnownPerson[];
  /** How many steps it took until a trainer was in, of all who are. */
  stepsToAccess(): number[];
}

interface Hired {
  person: KnownPerson;
  contractId: string;
  step: number;
  isIn: boolean;
}

export async function openHonestBusiness(
  { sandbox, customer }: Pick<Site, 'sandbox' | 'customer'>,
  tool: WatchedTool,
  guard: Guard,
): Promise<HonestBusiness> {
  const { installId, link } = customer('honest');
  const jobs = new Map<string, string>();
  for (const project of [...honestProjects, managedProject]) {
    const { id: jobId } = sandbox.createJob({ installId });
    const isManaged = project === managedProject;
    await link(project, { jobId, ...(isManaged && { provisioningMode: 'MANAGED_ADAPTER' }) });
    jobs.set(project, jobId);
  }
  const jobOf = (project: string) => jobs.get(project) ?? '';
  sandbox.hire({
    jobId: jobOf(managedProject),
    trainers: [{ opentrainUserId: managed.name, workEmail: managed.email }],
  });
  const hired = new Map<string, Hired>();
  const stepsToAccess: number[] = [];
  /** Contracts that are over as soon as those that follow them are known everywhere. */
  const outlived: string[] = [];

  function begin({ trainerId, email, project }: HonestTrainer): string {
    const trainers = [{ opentrainUserId: trainerId, workEmail: email }];
    return sandbox.hire({ jobId: jobOf(project), trainers }).contractId;
  }

  function hire(trainer: HonestTrainer, step: number): void {
    const { trainerId, email, project } = trainer;
    const person = { trainerId, email, projects: new Set([project]) };
    guard.expect(person);
    hired.set(trainerId, { person, contractId: begin(trainer), step, isIn: false });
  }

  function end({ trainerId }: HonestTrainer): void {
    const ended = hired.get(trainerId);
    if (ended === undefined) return;
    guard.release(ended.person);
    hired.delete(trainerId);
    sandbox.endContract(ended.contractId);
  }

  /** A trainer is never without a contract for a moment, or is, as it happens. */
  function renew(trainer: HonestTrainer, step: number): void {
    const current = hired.get(trainer.trainerId);
    if (current === undefined) return;
    if (step % 2 === 0) {
      end(trainer);
      hire(trainer, step);
      return;
    }
    outlived.push(current.contractId);
    current.contractId = begin(trainer);
  }

  const isIn = ({ person }: Hired): boolean => {
    const { accounts, members } = tool.standing();
    return [...person.projects].every((project) =>
      members.get(tool.groupOf(project))?.some((account) => {
        const state = accounts.get(account);
        return state !== undefined && tool.isAccountOf(person, account, state);
      }),
    );
  };

  return {
    step(number) {
      for (const contractId of outlived.splice(0)) sandbox.endContract(contractId);
      const [next, ending, renewing] = [number, number - 3, number - 2].map((index) => honestTrainers[index]);
      if (next !== undefined) hire(next, number);
      if (ending !== undefined && number % 3 === 0) end(ending);
      if (renewing !== undefined) renew(renewing, number);
    },
    hire,
    look(step) {
      for (const one of hired.values()) {
        if (one.isIn || !isIn(one)) continue;
        one.isIn = true;
        stepsToAccess.push(step - one.step);
        guard.guard(one.person);
      }
    },
    hired: () => [...hired.values()].map(({ person }) => person),
    stepsToAccess: () => stepsToAccess,
  };
}
